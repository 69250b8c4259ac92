"""What is recorded, and who it says has asked for it."""
import os
import shutil
import subprocess

import recorded
import support
from recorded import VICTIM, RecorderCase, function_at


class Causes(RecorderCase):
    def test_a_program_without_cuda_says_that_it_started_and_nothing_else(self):
        recording = self.record("/bin/true")
        self.assertEqual([each["kind"] for each in recording.records], ["start"])

    def test_who_opened_it_with_the_place_of_the_call(self):
        toy = self.toy()
        load = self.do("open", toy).load(toy)
        self.assertEqual((load["cause"], load["name"], load["by"], load["ns"]),
                         ("opened", str(toy), VICTIM, "0"))
        self.assertEqual(load["callerobj"], VICTIM)
        self.assertEqual(function_at(VICTIM, int(load["calleroff"], 16)), ["open_here"])

    def test_another_place_of_the_same_program(self):
        first, second = self.toy(), self.toy("libcudart.so.13")
        recording = self.do("open", first, "elsewhere", second)
        for toy, function in ((first, "open_here"), (second, "open_elsewhere")):
            self.assertEqual(function_at(VICTIM, int(recording.load(toy)["calleroff"], 16)),
                             [function])

    def test_a_program_at_a_fixed_address(self):
        program = self.folder / "fixed"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "victim.c")
        subprocess.run(["gcc", "-O1", "-no-pie", "-fno-pie", source, "-o", program], check=True)
        toy = self.toy()
        load = self.record(program, "open", toy).load(toy)
        self.assertEqual(load["callerobj"], str(program))
        self.assertEqual(function_at(program, int(load["calleroff"], 16)), ["open_here"])

    def test_the_file_that_was_at_its_path(self):
        toy = self.toy()
        load = self.do("open", toy).load(toy)
        status = toy.stat()
        self.assertEqual(load["dev"], f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}")
        self.assertEqual(load["ino"], str(status.st_ino))

    def test_who_needs_it_up_to_what_was_opened(self):
        toy = self.toy()
        here = "-Wl,-rpath,$ORIGIN", f"-L{self.folder}", "-Wl,--no-as-needed"
        self.toy("libmiddle.so", "int middle;", *here, f"-l:{toy.name}")
        self.toy("libouter.so", "int outer;", *here, "-l:libmiddle.so")
        top = self.toy("libtop.so", "int top;", *here, "-l:libouter.so")
        recording = self.do("open", top)
        told = [(os.path.basename(each["path"]), each["cause"], os.path.basename(each["by"]))
                for each in recording.loads]
        self.assertEqual(told, [("libtop.so", "opened", os.path.basename(VICTIM)),
                                ("libouter.so", "needed", "libtop.so"),
                                ("libmiddle.so", "needed", "libouter.so"),
                                ("libcudart.so.12", "needed", "libmiddle.so")])
        self.assertEqual(recording.load(toy)["name"], toy.name)
        orders = [int(each["order"]) for each in recording.loads]
        self.assertEqual(orders, sorted(set(orders)))

    def test_a_name_with_a_token_is_needed_too(self):
        toy = self.toy()
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", self.folder / "libtop.so"],
                       check=True)
        recorded.support.need_program(self, "patchelf")
        subprocess.run(["patchelf", "--add-needed", "$ORIGIN/" + toy.name,
                        self.folder / "libtop.so"], check=True)
        self.assertEqual(self.do("open", self.folder / "libtop.so").load(toy)["cause"], "needed")

    def test_what_the_program_needs(self):
        toy = self.toy()
        program = self.folder / "program"
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-Wl,--no-as-needed",
                        f"-Wl,-rpath,{self.folder}", "-x", "none", toy], input=b"int main(void) { return 0; }",
                       check=True)
        recording = self.record(program)
        self.assertEqual(recording.load(program)["cause"], "program")
        load = recording.load(toy)
        self.assertEqual((load["cause"], load["by"]), ("needed", str(program)))
        self.assertEqual([each["kind"] for each in recording.records],
                         ["start", "load", "load", "sync"])
        self.assertEqual(len({each.connection for each in recording.records}), 1)

    def test_what_was_preloaded(self):
        toy = self.toy()
        load = self.do(env={"LD_PRELOAD": str(toy)}).load(toy)
        self.assertEqual((load["cause"], load["name"], load["by"]), ("preload", str(toy), VICTIM))

    def test_another_namespace_of_the_loader(self):
        toy = self.toy()
        load = self.do("space", toy).load(toy)
        self.assertEqual((load["cause"], load["by"]), ("opened", VICTIM))
        self.assertGreater(int(load["ns"]), 0)
        self.assertEqual(function_at(VICTIM, int(load["calleroff"], 16)), ["open_in_space"])

    def test_unloaded_and_loaded_again(self):
        toy = self.toy()
        recording = self.do("open", toy, "close", "open", toy)
        told = [(each["kind"], each["path"]) for each in recording.records
                if each["kind"] in ("load", "unload")]
        self.assertEqual(told, [("load", str(toy)), ("unload", str(toy)), ("load", str(toy))])
        self.assertEqual(recording.of("unload")[0]["base"], recording.loads[0]["base"])

    def test_the_end_of_a_program_unloads_nothing(self):
        toy, other = self.toy(), self.toy("libcudart.so.13")
        recording = self.do("open", toy, "space", other)
        self.assertEqual(len(recording.loads), 2)
        self.assertEqual(recording.of("unload"), [])

    def test_a_load_that_failed_is_undone(self):
        toy = self.toy()
        here = "-Wl,-rpath,$ORIGIN", f"-L{self.folder}", "-Wl,--no-as-needed"
        absent = self.toy("libabsent.so", "int absent;")
        top = self.toy("libtop.so", "int top;", *here, f"-l:{toy.name}", "-l:libabsent.so")
        absent.unlink()
        recording = self.do("open", top, code=1)
        self.assertEqual({each["path"] for each in recording.loads},
                         {each["path"] for each in recording.of("unload")})

    def test_a_name_of_the_family_that_is_in_another_name_is_not_meant(self):
        for name in ("libcurl.so.4", "libcups.so.2", "libnvme.so.1", "libcue.so.2", "libicudata.so.72",
                     "libsecurandom.so", "libcud"):
            with self.subTest(name):
                toy = self.toy(name, "int x;")
                self.assertEqual(self.do("open", toy).loads, [])

    def test_names_of_the_family(self):
        for name in ("libcudart-d0da41ae.so.12", "libCUDART.so", "libcublasLt.so.12", "libcuda.so.1",
                     "libnvrtc.so.12", "libnccl.so.2", "libnvidia-ml.so.1", "libtorch_cuda.so",
                     "libcudnn.so.9", "libnvJitLink.so.12", "libggml-cuda.so", "libx_icuda_cuda.so"):
            with self.subTest(name):
                toy = self.toy(name, "int x;")
                self.assertEqual(self.do("open", toy).load(toy)["cause"], "opened")

    def test_what_it_defines_tells_where_its_name_does_not(self):
        for style in ("gnu", "sysv", "both"):
            with self.subTest(style):
                toy = self.toy(f"libmine_{style}.so", "int cudaMalloc(void) { return 0; }",
                               f"-Wl,--hash-style={style}")
                self.assertEqual(self.do("open", toy).load(toy)["cause"], "opened")

    def test_a_reference_is_no_definition(self):
        toy = self.toy("libmine.so", "int cudaMalloc(void); int f(void) { return cudaMalloc(); }",
                       "-Wl,-z,lazy")
        self.assertEqual(self.do(env={"LD_PRELOAD": str(toy)}).loads, [])

    def test_a_hook_is_recorded_and_nobody_waits_for_it(self):
        support.need_no_sanitizer(self)  # It needs dlsym itself.
        hook = self.toy("libhook.so", "void* dlsym(void* h, const char* n) { return 0; }")
        recording = self.do(env={"LD_PRELOAD": str(hook)})
        self.assertEqual(recording.load(hook)["cause"], "preload")
        self.assertEqual(recording.of("sync"), [])

    def test_real_runtimes_in_both_orders(self):
        for order in (("12.8", "13.0"), ("13.0", "12.8")):
            with self.subTest(order):
                paths = [self.runtime(version) for version in order]
                recording = self.do(*(part for path in paths for part in ("open", path)))
                self.assertEqual([each["path"] for each in recording.loads], list(map(str, paths)))
                self.assertEqual(len(recording.of("sync")), 1)

    def test_a_real_runtime_under_any_name(self):
        path = self.runtime("12.8", "libmine.so")
        self.assertEqual(self.do("open", path).load(path)["cause"], "opened")

    def test_any_bytes_in_a_path(self):
        source = self.toy()
        path = os.fsdecode(os.fsencode(self.folder) + b"/lib \xff\ncuda=\x1b.so")
        shutil.copyfile(source, path)
        self.assertEqual(self.do("open", path).load(path)["name"], path)


if __name__ == "__main__":
    recorded.main()
