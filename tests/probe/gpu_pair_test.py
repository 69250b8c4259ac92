"""The pair that scripts/gpu-check starts by hand, on a runtime and a driver without a GPU.

Called as: gpu_pair_test.py CUDART_DOCTOR FAKE_RUNTIME FOLDER_OF_FAKE_DRIVER [unittest arguments]
"""
import fcntl
import os
import select
import signal
import sys
import unittest

import gpu_pair
from gpu_pair import STAGES, Setting

if len(sys.argv) < 4:
    sys.exit(__doc__)
DOCTOR, RUNTIME, DRIVER = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
os.environ["LD_LIBRARY_PATH"] = DRIVER


def run(**options):
    return gpu_pair.Pair(DOCTOR, RUNTIME, **options).run()


class PairByHand(unittest.TestCase):
    def assert_all_pass(self, pair):
        for child in (pair.exporter, pair.importer):
            seen = {name: child.outcome(name) for name in STAGES[child.side]}
            self.assertEqual(seen, dict.fromkeys(STAGES[child.side], "pass"), child.output)
            self.assertEqual((child.done, child.exit, child.late), (True, 0, False))

    def test_a_healthy_pair_passes_every_stage(self):
        self.assert_all_pass(run())

    def test_a_relay_that_changes_nothing_is_not_noticed(self):
        self.assert_all_pass(run(relay=lambda side, message: message))

    def test_a_command_before_a_child_hands_its_descriptors_on(self):
        self.assert_all_pass(run(importer=Setting(("sh", "-c", '"$0" "$@"; exit $?'))))

    def test_a_damaged_handle_never_verifies(self):
        # The first byte is the fake's magic number, the thirteenth says which memory it is.
        for position in (0, 12):
            with self.subTest(position=position):
                pair = run(relay=gpu_pair.flip_handle_byte(position))
                self.assertEqual(pair.importer.outcome("ipc_import"), "fail")
                self.assertEqual(pair.exporter.outcome("ipc_verify"), "skipped")
                self.assertTrue(pair.exporter.done)

    def test_a_handle_that_leads_elsewhere_is_noticed_by_its_data(self):
        pair = run(importer=Setting(environment={"CUDART_DOCTOR_FAKE": "corrupt"}))
        self.assertEqual(pair.importer.outcome("ipc_import"), "fail")
        self.assertIsNone(pair.importer.code("ipc_import"))
        self.assertEqual(pair.exporter.outcome("ipc_verify"), "skipped")

    def test_an_exporter_ends_by_itself_when_its_importer_is_killed(self):
        pair = run(relay=gpu_pair.lose_answers_to_handle(),
                   on_frame=gpu_pair.kill_importer_at("ipc_import"))
        self.assertEqual(pair.importer.exit, -signal.SIGKILL)
        self.assertEqual(pair.exporter.outcome("ipc_verify"), "skipped")
        self.assertEqual((pair.exporter.done, pair.exporter.exit), (True, 0))

    def test_nothing_is_left_of_a_pair_that_hangs(self):
        # Open for as long as one of them lives: the shell before the importer, too.
        life, held = os.pipe()
        inherited = fcntl.fcntl(held, fcntl.F_DUPFD, gpu_pair.ABOVE_ALL)
        os.close(held)
        hangs = Setting(("sh", "-c", '"$0" "$@"; exit $?'),
                        {"CUDART_DOCTOR_FAKE": "hang:cudaIpcOpenMemHandle"})
        pair = run(importer=hangs, deadline=2)
        self.assertEqual(pair.importer.outcome("ipc_import"), "begun")
        for child in (pair.exporter, pair.importer):
            self.assertEqual((child.late, child.exit), (True, -signal.SIGKILL))
        os.close(inherited)
        self.assertEqual(select.select([life], [], [], 5)[0], [life], "somebody is left")
        os.close(life)


if __name__ == "__main__":
    unittest.main()
