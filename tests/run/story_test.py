"""The launch that was reported upstream (vllm#47586), from the import that nobody asked for to the
consumer that takes the stub: told with file and line, stopped before its weights, or mended."""
import json
import os

import story_tree
from watching import RunCase, doctor, mapped
import support
from support import by_path, findings, selection

MARKER = b"weights are being loaded\n"


class Story(RunCase):
    def start(self, tree, *options, code=0):
        ended = self.watch(*tree.command(code), options=options, env=tree.environment())
        return ended, json.loads(tree.told.read_text()) if tree.told.exists() else None

    def chain(self, tree):
        """FILE:LINE of every step between the registry and the library, innermost first."""
        return [f"{name}:{tree.line(name, text)}" for name, text in (
            ("tilelang/__init__.py", "ctypes.CDLL("), ("serving/mhc.py", "import tilelang"),
            ("serving/models/deepseek_v4.py", "import mhc"),
            ("serving/registry.py", "import_module("))]

    def assert_tells_chain(self, tree, text):
        """Each of the chain's places is in the text, in their order."""
        at = [text.find("/" + os.path.basename(place)) for place in self.chain(tree)]
        self.assertNotIn(-1, at, text)
        self.assertEqual(at, sorted(at), text)

    def test_the_report_names_every_file_and_line_of_the_chain(self):
        tree = story_tree.Tree(self)
        ended, told = self.start(tree, code=7)
        self.assertEqual((ended.code, ended.out), (7, MARKER), ended.err)
        self.assertEqual(findings(ended.report)["RT04"], "critical")
        chosen = selection(ended.report, "flashinfer-legacy-rt11")
        self.assertEqual(chosen["runtime"], by_path(ended.report, tree.stub)["ref"])
        story = ended.run["story"]["text"]
        self.assert_tells_chain(tree, story)
        self.assertIn("libtilelang.so", story)
        self.assertIn("FlashInfer 0.6.17", ended.run["story"]["effect"])
        self.assertEqual(mapped(told, tree.stub.name), {str(tree.stub)})

    def test_the_recorded_loads_are_what_python_and_the_files_say(self):
        tree = story_tree.Tree(self)
        ended, told = self.start(tree)
        stub, = ended.events(tree.stub.name)
        library, = ended.events("libtilelang.so")
        runtime, = ended.events("libcudart.so.12")
        self.assertEqual((library["cause"], stub["cause"], runtime["cause"]),
                         ("opened", "needed", "opened"))
        self.assertEqual(stub["requester"], str(tree.library))
        self.assertIn("_ctypes", os.path.basename(library["requester"]))
        self.assert_stack(library, told["stack"][::-1])
        self.assertEqual([frame["module"] for frame in library["python"]
                          if frame["module"] != "ctypes"][:3],
                         ["tilelang", "serving.mhc", "serving.models.deepseek_v4"])
        server = tree.file("serving/server.py")
        self.assertIn([str(server), tree.line("serving/server.py", "ctypes.CDLL(")],
                      [[frame["file"], frame["line"]] for frame in runtime["python"]])
        order = [each["path"] for each in ended.run["events"]]
        self.assertLess(order.index(str(tree.stub)), order.index(str(tree.runtime)))

    def test_the_real_library_brings_its_stub(self):
        place = support.fixture_folder()
        for name in story_tree.NATIVE:
            if not (place / name).exists():
                self.skipTest(f"scripts/fetch-fixtures --with {' '.join(story_tree.NATIVE)}")
        tree = story_tree.Tree(self, tilelang="tilelang-native")
        ended, told = self.start(tree)
        self.assertEqual((ended.code, ended.out), (0, MARKER), ended.err)
        self.assertEqual(mapped(told, tree.stub.name), {str(tree.stub)})
        stub, = ended.events(tree.stub.name)
        self.assertIn(os.path.basename(stub["requester"]),
                      ("libtvm_compiler.so", "libtvm_runtime.so"))
        self.assert_tells_chain(tree, ended.run["story"]["text"])
        self.assertIn("libtilelang.so", ended.run["story"]["text"])
        self.assertEqual(findings(ended.report)["RT04"], "critical")

    def test_judge_exit_makes_the_finding_the_exit_code(self):
        tree = story_tree.Tree(self)
        ended, told = self.start(tree, "--judge-exit", code=0)
        self.assertEqual((ended.code, ended.out), (1, MARKER), ended.err)
        self.assertIsNotNone(told)
        ended, _ = self.start(tree, "--judge-exit", "--fail-on", "critical", "--allow", "RT04")
        self.assertEqual(ended.code, 0, ended.err)

    def test_the_gate_ends_it_before_its_weights(self):
        tree = story_tree.Tree(self)
        ended, told = self.start(tree, "--gate", code=7)
        self.assertEqual((ended.code, ended.out, told), (1, b"", None), ended.err)
        self.assertTrue(ended.run["gated"])
        self.assertEqual(findings(ended.report)["RT04"], "critical")
        self.assert_tells_chain(tree, ended.run["story"]["text"])
        self.assertEqual(ended.events("libcudart.so.12"), [])

    def test_the_import_where_it_is_needed_mends_it(self):
        tree = story_tree.Tree(self, mhc=story_tree.LAZY)
        for options in ((), ("--gate",), ("--judge-exit",)):
            with self.subTest(options=options):
                ended, told = self.start(tree, *options)
                self.assertEqual((ended.code, ended.out), (0, MARKER), ended.err)
                self.assertNotIn("RT04", findings(ended.report))
                self.assertEqual((ended.events(tree.stub.name), mapped(told, tree.stub.name)),
                                 ([], set()))
                self.assertFalse(ended.run["gated"])
                tree.told.unlink()

    def test_the_text_is_for_a_screen_and_starts_with_the_answer(self):
        tree = story_tree.Tree(self)
        ended = doctor("run", "--", *tree.command(7), env=tree.environment())
        self.assertEqual((ended.code, ended.out), (7, MARKER))
        lines = ended.message.splitlines()
        self.assertTrue(lines[0].startswith("CRITICAL RT04"), lines[0])
        self.assertLessEqual(len(lines), 42, ended.message)
        self.assertEqual([line for line in lines if len(line) > 80], [])
        self.assert_tells_chain(tree, " ".join(ended.message.split()))


class Compared(RunCase):
    def test_the_renamed_stub_is_a_difference_between_two_recordings(self):
        kept = {}
        for wheel in ("tilelang-0.1.11", "tilelang-0.1.12"):
            tree = story_tree.Tree(self, tilelang=wheel)
            kept[wheel] = self.folder / f"kept-{wheel}"
            ended = self.watch(*tree.command(), options=("--record", kept[wheel]),
                               env=tree.environment())
            self.assertEqual(ended.code, 0, ended.err)
            again = doctor("--from", kept[wheel], "--json")
            self.assertEqual(again.document["run"], ended.run)
            self.assertEqual(findings(again.document), findings(ended.report))
        ended = doctor("diff", *kept.values())
        self.assertIn(ended.code, (0, 1), ended.message)
        for name in ("libcudart_stub.so", "libstub_cudart.so", "RT04"):
            self.assertIn(name, ended.text)
        same = doctor("diff", kept["tilelang-0.1.11"], kept["tilelang-0.1.11"])
        self.assertEqual(same.code, 0, same.text + same.message)


support.main()
