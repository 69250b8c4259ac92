"""A launcher that neither reads nor answers costs seconds, once; one that says that it is busy is waited for."""
import time

import recorded
from recorded import RecorderCase


class Unanswered(RecorderCase):
    def test_the_process_goes_on(self):
        toy = self.toy()
        begin = time.monotonic()
        # More connections than the kernel keeps for a reader who does not come.
        self.do("alarms", "open", toy, "close", "loop", 6000, toy, answer="deaf", timeout=100)
        took = time.monotonic() - begin
        self.assertGreater(took, 4)
        self.assertLess(took, 30)

    def test_a_launcher_that_is_busy_is_waited_for(self):
        toys = [self.toy(f"libcuda_{i}.so") for i in range(2)]
        begin = time.monotonic()
        # Longer than silence would be borne; then its answer counts.
        recording = self.do("alarms", "open", toys[0], "open", toys[1], answer="late", timeout=100)
        self.assertGreater(time.monotonic() - begin, 7)
        self.assertEqual([each["kind"] for each in recording.records],
                         ["start"] + ["load", "sync"] * 2)


if __name__ == "__main__":
    recorded.main()
