"""Text cannot become markup; names are explained where they first appear."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from importlib import resources

import pytest

from foresolve._base.drawing.intervals import Row
from foresolve._base.drawing.palette import VARIABLES
from foresolve._base.table import Cell
from foresolve.errors import MissingExtraError
from foresolve.report.pages import rendering
from foresolve.report.pages.document import (
    Block,
    Bullets,
    Card,
    Command,
    Folded,
    Grid,
    Heading,
    Line,
    Page,
    Section,
    Text,
)  # fmt: skip
from foresolve.report.pages.pictures import forest

EVIL = '</script><script>alert("x & y")</script><!--'


def evil_page() -> Page:
    blocks: tuple[Block, ...] = (
        Text((EVIL,)), Bullets((EVIL,)), Heading(EVIL), Command(EVIL),
        Folded(EVIL, (Grid(EVIL, (EVIL,), (Line((Cell(EVIL, EVIL, EVIL, bold=True),)),), EVIL),)),
        forest(EVIL, [Row(EVIL, 1.0, 0.5, 2.0, context=EVIL)], EVIL, caption=EVIL, level=EVIL),
    )  # fmt: skip
    card = Card(EVIL, EVIL, "good", EVIL, (EVIL,), EVIL)
    return Page(EVIL, EVIL, (card,), (Section(EVIL, blocks),), {EVIL: EVIL}, "2026-01-01")


def test_text_stays_text_in_every_block() -> None:
    html = evil_page().html()
    assert html.count("<script") == html.count("</script>") == 2
    assert "alert(&#34;x &amp; y&#34;)" in html
    assert "<script>alert" not in html


def test_figures_of_one_page_share_no_names_and_bring_no_style() -> None:
    drawn = forest("", [Row("a", 1.0, 0.5, 2.0)], "")
    html = Page("", "", (), (Section("", (drawn, Folded("", (drawn,)))),)).html()
    names = re.findall(r'<[^>]+ id="(p\d-[^"]+)"', html)
    assert len(names) == len(set(names)) > 2
    assert {name[:3] for name in names} == {"p1-", "p2-"}
    assert html.count("<style") == 1


def test_the_colors_of_figures_are_those_of_the_page() -> None:
    style = Page("", "", (), ()).html().partition("<style>")[2].partition("</style>")[0]
    for color, name in VARIABLES.items():
        assert f"{name}: {color};" in style
    dark = style.partition('[data-theme="dark"]')[2].partition("}")[0]
    assert {"--text", "--back"} <= set(re.findall(r"--[a-z]+", dark))


def test_every_kind_of_block_has_a_template() -> None:
    kinds = {kind.kind for kind in Block.__subclasses__()}
    folder = resources.files("foresolve.report.pages") / "templates" / "blocks"
    assert {path.name for path in folder.iterdir()} == {f"{kind}.html" for kind in kinds}
    assert all(fields(kind) for kind in Block.__subclasses__())


def test_names_are_explained_and_words_left_alone() -> None:
    terms = {"NN1-Decision": "a <network>", "forest": "trees"}
    page = Page("", "NN1-Decision, NN1-Decisions, `x < y`, a forest at -3, --quick", (), (), terms)
    lead = page.html().partition('class="lead">')[2].partition("</p>")[0]
    assert lead == (
        '<span class="term" tabindex="0" data-meaning="a &lt;network&gt;">NN1-Decision</span>, NN1-Decisions, '
        "<code>x &lt; y</code>, a forest at −3, --quick"
    )


def test_names_turn_no_other_text_around() -> None:
    """Marks that reverse what follows are replaced; numbers behind a name that is written leftward stay there."""
    card = Card("\u202eevil\x00?", "\u202eevil 5: שלום עולם -1 [\u2066-2, 3]")
    html = Page("\u202eevil", "", (card,), ()).html()
    assert not set(html) & {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\x00"}
    assert '<p class="answer">\ufffdevil 5: <bdi>שלום עולם</bdi> −1 [\ufffd−2, 3]</p>' in html


def test_what_a_name_stands_for_is_said_once_in_the_cards() -> None:
    card = Card("", "", terms=("spo+", "unknown"))
    html = Page("", "", (card, card), (), {"spo+": "a convex bound"}).html()
    assert html.count("<dd>a convex bound</dd>") == 1
    assert "unknown" not in html.partition("<main>")[2].partition("</main>")[0]


def test_without_jinja_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    rendering._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"foresolve\[report\]"):
        Page("", "", (), ()).html()
    rendering._environment.cache_clear()
