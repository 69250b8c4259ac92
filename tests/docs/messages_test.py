"""Each message that docs/troubleshooting.md explains is one that the program has.

messages_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# Literals that stand one behind the other are one text.
source = "\n".join(re.sub(r'"\s*\n\s*"', "", path.read_text()) for path in sorted((root / "src").rglob("*.cpp")))
page = (root / "docs/troubleshooting.md").read_text()
messages = [text for title in re.findall(r"^### (.*)$", page, re.MULTILINE) for text in re.findall(r"`([^`]+)`", title)]
unknown = [text for text in messages if text not in source]
for text in unknown:
    print(f"no source has: {text}")
if len(messages) < 15:
    sys.exit(f"only {len(messages)} messages found in the page")
sys.exit(1 if unknown else 0)
