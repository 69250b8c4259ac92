"""The page and the block, read by parsers that are not ours.

usage: pages_test.py WRITE_REPORTS
Exit 77 (skipped) where python3-html5lib or python3-markdown-it is missing; a failure under CI=true.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import html5lib
    from markdown_it import MarkdownIt
except ImportError as error:
    print(error)
    sys.exit(1 if os.environ.get("CI") == "true" else 77)

PROGRAM = sys.argv.pop(1)
# Elements of ours; whatever else appears came out of some text.
ELEMENTS = set("""html head meta title style body header div p h1 h2 h3 br a main section dl dt dd ul
ol li article span code wbr pre table thead tbody tr th td details summary figure figcaption footer
svg desc line circle rect text tspan""".split())
ATTRIBUTES = set("""lang charset http-equiv content name class id href scope role viewBox x y x1 y1 x2
y2 cx cy r rx width height aria-labelledby aria-hidden""".split())
# What a tracker makes links of by itself.
ALIVE = re.compile(r"@\w|#\d|https?:|www\.|\b[0-9a-f]{7,40}\b|<|GH-\d")


def written(form, ending):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, folder, form], check=True)
        return {path.stem: path.read_text(encoding="utf-8", errors="strict")
                for path in sorted(pathlib.Path(folder).glob("*." + ending))}


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = written("html", "html")
        parser = lambda: html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        cls.trees = {name: parser().parse(page) for name, page in cls.pages.items()}

    def test_every_page_is_html_without_a_single_error(self):
        self.assertGreater(len(self.trees), 20)  # strict: an error would have been raised.
        with self.assertRaises(html5lib.html5parser.ParseError):
            html5lib.HTMLParser(strict=True).parse("<!DOCTYPE html><title></title><p></b>")

    def test_no_text_became_an_element_or_an_attribute(self):
        for name, tree in self.trees.items():
            for element in tree.iter():
                if not isinstance(element.tag, str):
                    self.fail(f"{name}: a comment")
                tag = element.tag.replace("{http://www.w3.org/2000/svg}", "")
                self.assertIn(tag, ELEMENTS, name)
                for attribute, value in element.attrib.items():
                    self.assertIn(attribute, ATTRIBUTES, name)
                    if attribute == "href":
                        self.assertRegex(value, r"^#[a-z]+$")
                    if attribute == "class":
                        self.assertRegex(value, r"^[a-z ]*$")

    def test_a_page_can_be_found_one_s_way_in(self):
        for name, tree in self.trees.items():
            ids = [each.attrib["id"] for each in tree.iter() if "id" in each.attrib]
            self.assertEqual(len(ids), len(set(ids)), name)
            for each in tree.iter():
                for target in each.attrib.get("aria-labelledby", "").split():
                    self.assertIn(target, ids, name)
                if "href" in each.attrib:
                    self.assertIn(each.attrib["href"][1:], ids, name)
            self.assertEqual(len(list(tree.iter("h1"))), 1, name)
            for table in tree.iter("table"):
                heads = table.find("thead").find("tr").findall("th")
                self.assertTrue(all(head.attrib["scope"] == "col" for head in heads))
                for row in table.find("tbody"):
                    self.assertEqual(len(list(row)), len(heads), name)
                    self.assertEqual(row[0].attrib.get("scope"), "row")

    def test_the_picture_is_told_in_words(self):
        tree = self.trees["critical"]
        told = "".join(tree.find(".//desc").itertext()) if tree.find(".//desc") is not None else \
            "".join(tree.find(".//{http://www.w3.org/2000/svg}desc").itertext())
        self.assertIn("libtorch_cuda.so needs B.", told)
        self.assertIn("FlashInfer 0.6.14: A FAIL", told)

    def test_all_of_a_text_is_there(self):
        # The same words as the text report's, in the text of the elements.
        text = "".join(self.trees["critical"].itertext())
        for words in ("cudaDeviceReset", "/opt/venv/lib/python3.12/site-packages/tilelang/lib/"
                      "libcudart_stub.so", "tilelang >= 0.1.12, or FlashInfer with #5198"):
            self.assertIn(words, text)

    def test_colours_are_readable(self):
        style = re.search(r"<style>(.*?)</style>", self.pages["healthy"], re.S).group(1)
        palettes = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", block))
                    for block in re.findall(r":root \{(.*?)\}", style, re.S)]
        self.assertEqual(len(palettes), 3)  # Light, dark, paper.
        for palette in palettes:
            for tone in ("ink", "soft", "link", "bad", "notice", "good", "plain"):
                self.assertGreaterEqual(contrast(palette[tone], palette["ground"]), 4.5)
            for tone in ("bad", "notice", "good", "plain"):
                self.assertGreaterEqual(contrast(palette[tone], palette[tone + "-ground"]), 4.5)
                self.assertGreaterEqual(contrast(palette["ink"], palette[tone + "-ground"]), 4.5)


def contrast(one, two):
    """The ratio of WCAG 2."""
    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


class Markdown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.blocks = written("markdown", "md")
        parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        cls.tokens = {name: parser.parse(block) for name, block in cls.blocks.items()}

    def test_no_text_became_markup(self):
        known = {"heading", "paragraph", "bullet_list", "ordered_list", "list_item", "table", "thead",
                 "tbody", "tr", "th", "td", "inline", "strong", "text", "code_inline", "softbreak"}
        for name, tokens in self.tokens.items():
            for token in tokens:
                for each in [token, *(token.children or [])]:
                    self.assertIn(each.type.removesuffix("_open").removesuffix("_close"), known, name)
                    if each.type == "text":
                        self.assertIsNone(ALIVE.search(each.content), f"{name}: {each.content}")

    def test_every_row_has_the_cells_of_its_head(self):
        for name, tokens in self.tokens.items():
            heads = cells = 0
            for token in tokens:
                if token.type == "table_open":
                    heads = 0
                heads += token.type == "th_open"
                if token.type == "tr_open":
                    cells = 0
                cells += token.type in ("td_open", "th_open")
                if token.type == "tr_close":
                    self.assertEqual(cells, heads, name)
            # Nor did a table end early and leave its rows as text.
            self.assertFalse(any(token.type == "inline" and token.content.startswith("|")
                                 for token in tokens), name)


unittest.main()
