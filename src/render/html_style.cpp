// The style sheet. Two palettes, one column on a phone, no closed part on paper. All text colours
// have a contrast of 4.5 or more with the ground that they stand on.
#include "render/html_writer.hpp"

namespace cudart_doctor {

std::string_view html_style() {
  return R"css(
:root {
  --ground: #fbfbf8; --ink: #1b1d1f; --soft: #565b61; --line: #d6d8d2; --link: #1c4f8f;
  --bad: #a4141f; --bad-ground: #fbe9e8; --notice: #7a4b00; --notice-ground: #fbf1dc;
  --good: #17633a; --good-ground: #e6f2ea; --plain: #565b61; --plain-ground: #eeefeb;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181a; --ink: #e8e8e4; --soft: #a6abb1; --line: #363a3f; --link: #93bff2;
    --bad: #ff9d97; --bad-ground: #3b1a1b; --notice: #f2c26b; --notice-ground: #362a10;
    --good: #8ad7a2; --good-ground: #14301f; --plain: #a6abb1; --plain-ground: #26292c;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  overflow-wrap: anywhere;
}
.in { max-width: 68rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem); }
header { padding: 1.75rem 0 1.5rem; border-top: 6px solid; border-bottom: 1px solid; }
header.bad { color: var(--bad); background: var(--bad-ground); }
header.notice { color: var(--notice); background: var(--notice-ground); }
header.good { color: var(--good); background: var(--good-ground); }
header.plain { color: var(--plain); background: var(--plain-ground); }
header p { margin: 0; }
header a { color: inherit; }
.word { font: 700 1rem/1.2 var(--mono); letter-spacing: .06em; }
h1 {
  margin: .5rem 0 .75rem; color: var(--ink);
  font-size: clamp(1.3rem, 1rem + 1.6vw, 1.9rem); line-height: 1.25; text-wrap: pretty;
}
.who { font: .85rem/1.5 var(--mono); color: var(--ink); }
.who code { font-size: 1em; }
h2 { margin: 0 0 .75rem; font-size: 1.15rem; line-height: 1.3; }
h3 { margin: 1.5rem 0 .4rem; font-size: 1rem; line-height: 1.4; }
section, .pair { margin: 2.25rem 0; }
.pair > section:first-child { margin-top: 0; }
main > :first-child { padding-top: 0; border-top: 0; }
section + section, .pair, .pair + section { padding-top: 1.75rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0; }
a { color: var(--link); }
code, pre { font-family: var(--mono); font-size: .875em; }
pre {
  margin: .4rem 0; padding: .6rem .75rem; background: var(--plain-ground); white-space: pre-wrap;
}
ul, ol { margin: .2rem 0; padding-left: 1.3rem; }
li { margin: .15rem 0; }
dl { margin: 0; }
dt { margin-top: .75rem; color: var(--soft); font-size: .875rem; }
dd { margin: 0; }
dd > ul, dd > ol { margin-top: 0; }
#answer dd { max-width: 48rem; }
article { margin: 1.25rem 0; padding-left: .9rem; border-left: 3px solid var(--line); }
article h3 { margin: 0; }
article .says { margin: .2rem 0; font-weight: 600; }
article dt { margin-top: .35rem; }
article.allowed { border-left-style: dashed; }
table { width: 100%; border-collapse: collapse; margin: .4rem 0; }
th, td { padding: .45rem .8rem .45rem 0; vertical-align: top; text-align: left; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .875rem; font-weight: 400; }
tbody th { font-weight: 600; }
tbody tr { border-top: 1px solid var(--line); }
table { table-layout: fixed; }
.files th:first-child { width: 2.2rem; }
.files thead th:nth-child(2) { width: 3.8rem; }
.takes th:first-child { width: 36%; }
.takes thead th:nth-child(2) { width: 4.4rem; }
.takes td:nth-child(2) { white-space: nowrap; }
.stages th:first-child, .shares th:first-child { width: 33%; }
.stages thead th:nth-child(2) { width: 4.5rem; }
.shares thead th:nth-child(2) { width: 5.6rem; }
.names th:first-child { width: 42%; }
.stages th, .shares th, .names th { font-weight: 400; }
td p { margin: .1rem 0; color: var(--soft); font-size: .9375rem; }
.mark { font: 700 .85rem/1.5 var(--mono); }
.bad { color: var(--bad); } .notice { color: var(--notice); }
.good { color: var(--good); } .plain { color: var(--plain); }
details { margin: .25rem 0; }
summary { color: var(--soft); font-size: .875rem; cursor: pointer; width: fit-content; }
summary:hover { color: var(--ink); text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
details > ul { font-size: .875rem; }
figure { margin: 0; }
.legend { margin: .6rem 0 0; padding: 0; list-style: none; color: var(--soft); font-size: .875rem; }
.legend li { display: flex; gap: .6rem; align-items: center; }
.legend svg { flex: none; width: 2rem; }
svg { display: block; width: 100%; max-width: 29rem; height: auto; color: var(--ink); }
svg text { fill: currentColor; font: 14px var(--mono); }
svg .caption { font: 600 13.5px system-ui, sans-serif; color: var(--soft); }
svg .small { font-size: 13.5px; color: var(--soft); }
svg .state { fill: var(--bad); font-weight: 700; }
svg .tag { font-weight: 700; text-anchor: end; }
svg .ref { font: 700 13.5px var(--mono); color: var(--ground); text-anchor: middle; }
svg line, svg circle, svg rect { stroke: currentColor; fill: none; stroke-width: 1.5; }
svg .lane { stroke-width: 2.5; }
svg .odd { stroke-dasharray: 5 3; }
svg .tie { stroke-width: 1; }
svg .broken { stroke-dasharray: 4 3; stroke-width: 1.5; }
svg .cross { stroke-width: 2.5; }
svg .hollow, svg .luck, svg .patch { fill: var(--ground); }
svg .luck { stroke-dasharray: 2 2; }
svg .patch { stroke: none; }
svg .full, svg .badge { fill: currentColor; }
footer { margin-top: 2.5rem; border-top: 1px solid var(--line); color: var(--soft); }
footer p { margin: 1rem 0 2rem; font-size: .875rem; }
@media (max-width: 30rem) {
  td, tbody th { font-size: .9375rem; }
}
@media (min-width: 40rem) {
  dl { display: grid; grid-template-columns: 9rem minmax(0, 1fr); column-gap: 1rem; }
  dt, article dt { margin-top: .2rem; }
  dd { margin-top: .1rem; }
}
@media (min-width: 62rem) {
  .pair { display: grid; grid-template-columns: 25rem minmax(0, 1fr); gap: 3.5rem; }
  .takes th:first-child { width: 12rem; }
  .pair > section, .pair > section + section { margin: 0; padding-top: 0; border: 0; }
  .pair + section { margin-top: 2.5rem; }
}
@media print {
  :root {
    --ground: #fff; --ink: #000; --soft: #444; --line: #bbb; --link: #000;
    --bad: #8a0f18; --bad-ground: #fff; --notice: #664000; --notice-ground: #fff;
    --good: #145230; --good-ground: #fff; --plain: #444; --plain-ground: #fff;
  }
  body { font-size: 10pt; }
  .in { max-width: none; padding: 0; }
  article, tr, figure, dd { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
)css";
}

}  // namespace cudart_doctor
