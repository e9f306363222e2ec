"""Pages in headless Chromium, on a desktop and on a phone: they work, say nothing to the console, and fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import foresolve
from browser import Browser, program
from foresolve.data import shortest_path_data
from foresolve.learning import History, Report, compare, evaluate
from foresolve.report import Page, comparison_page, study_page, training_page
from foresolve.report.pages.reproduction import reproduction_page
from reproduce.fakes import fake_run

CHROMIUM = program()
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is found (Debian: apt-get install chromium)"),
    # Trainings of two epochs need not improve anything.
    pytest.mark.filterwarnings("ignore::foresolve.errors.NoImprovementWarning"),
    pytest.mark.filterwarnings("ignore::foresolve.errors.WeakReferenceWarning"),
]
WIDTHS = {"desktop": (1280, False), "phone": (390, True)}
EVIL = '</script><script>document.title = "evil"</script><img src=x onerror="document.title=1">'
NAMES = ("two-stage", EVIL, "x" * 120, "\u202eevil שלום", "a name of very many words " * 5)
# Of every text and what is behind it: the contrast by WCAG 2, and the least that its size asks for.
CONTRAST = """(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = color.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const drawn = element.tagName === "text" || element.tagName === "tspan";
    if (!own || element.closest("script, noscript, style") || (element.closest("svg") && !drawn)) continue;
    if (!element.getClientRects().length) continue;
    const style = getComputedStyle(element), b = light(behind(element));
    const a = light(parse(drawn ? style.fill : style.color));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) weak.push(element.tagName + "." + element.className + " " + ratio.toFixed(2));
  }
  return weak;
})()"""

# The colors of the figures' texts and frames.
INKS = """[...document.querySelectorAll(".drawing text, .drawing [style*='stroke: var(--text']")].map((element) => {
  const style = getComputedStyle(element);
  return element.tagName === "text" ? style.fill : style.stroke;
})"""

# Texts of figures that reach beyond their figure.
CUT = """[...document.querySelectorAll(".drawing text")].filter((text) => {
  const inner = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.top < outer.top - 1 ||
    inner.bottom > outer.bottom + 1;
}).map((text) => text.textContent)"""

# Words of tables, lists and commands that could stand on one line and stand on two; a hyphen may end a line of prose,
# but no option of a command.
BROKEN = r"""(() => {
  const found = [], range = document.createRange();
  for (const element of document.querySelectorAll("th, td, li, dt, dd, pre")) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const word of node.textContent.matchAll(element.tagName === "PRE" ? /\S+/g : /[^\s\u2013-]+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top / 8)));
        if (lines.size > 1 && word[0].length <= 16) found.push(word[0]);
      }
    }
  }
  return found;
})()"""


def reproduce() -> Page:
    return reproduction_page([fake_run("recommendation", splits=3), fake_run("matching", splits=3, quick=True)])


def study() -> Page:
    data = shortest_path_data(40, degree=1, noise=0.5, seed=0)
    references = ["mean", "ridge", "network"]
    return study_page(foresolve.study(data, references=references, methods="spo+", trials=1, epochs=2, budget=None))


def trained(name: str, seed: int) -> tuple[foresolve.MLP, History, Report, foresolve.DecisionDataset]:
    train, test = shortest_path_data(60, degree=1, noise=0.5, seed=0).split(40, 20, seed=0)
    model = foresolve.MLP(5, 40, seed=seed)
    history = foresolve.fit(model, foresolve.MSE(), train, test, epochs=2, progress=False)
    return model, history, evaluate(model, test), test


def comparison() -> Page:
    """Of names that would like to be markup, or to be wide."""
    made = {name: trained(name, seed) for seed, name in enumerate(NAMES)}
    models, histories, reports = ({name: parts[i] for name, parts in made.items()} for i in range(3))
    compared = compare(reports)  # type: ignore[arg-type]
    test = made[EVIL][3]
    return comparison_page(compared, reports=reports, histories=histories, models=models, data=test)  # type: ignore[arg-type]


def training() -> Page:
    model, history, report, test = trained("model", 0)
    return training_page(history, report, model=model, data=test)


KINDS = (reproduce, study, comparison, training)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return request.param().save(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture(scope="module")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return training().save(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as running:
        yield running


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_works(page: Path, width: str, browser: Browser) -> None:
    pixels, mobile = WIDTHS[width]
    browser.open(page, pixels, mobile=mobile)
    title = browser.run("document.title")
    sorts(browser)
    toggles(browser)
    browser.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.run(BROKEN) == browser.run(CUT) == []
    assert browser.run("document.documentElement.scrollWidth") == pixels
    assert browser.run("innerWidth") == pixels  # a phone zooms out of what is too wide
    printed = browser.print()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 10_000
    assert browser.run("document.title") == title != ""
    assert browser.complaints() == []


def sorts(browser: Browser) -> None:
    """The first table of figures by its second column, up and down, by key and pointer; references stay below."""
    first = "document.querySelector('table.figures')"
    rows = (
        f"[...{first}.tBodies[0].rows].map(row => row.cells[1].dataset.value).filter(v => v !== undefined).map(Number)"
    )
    last = f"[...{first}.tBodies].slice(1).map(body => body.rows.length)"
    apart = browser.run(last)
    button = f"{first}.querySelectorAll('thead button')[1]"
    browser.run(f"{button}.click()")
    falling = browser.run(rows)
    assert falling == sorted(falling, reverse=True)
    assert browser.run(f"{button}.parentElement.getAttribute('aria-sort')") == "descending"
    browser.run(f"{button}.focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    assert browser.run(rows) == sorted(falling)
    assert browser.run(last) == apart
    name = f"{first}.querySelector('thead button')"
    browser.run(f"{name}.click()")
    names = browser.run(f"[...{first}.tBodies[0].rows].map(row => row.cells[0].textContent.trim())")
    assert browser.run(f"{names!r}.sort((a, b) => a.localeCompare(b, undefined, {{numeric: true}}))") == names


def toggles(browser: Browser) -> None:
    """Dark and light, each with texts that can be read; figures have the colors of the page."""
    seen = set()
    for _ in range(2):
        browser.run("document.getElementById('theme').click()")
        theme = browser.run("document.documentElement.dataset.theme")
        back, ink = browser.run("(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))")
        seen.add((theme, back, ink))
        assert browser.run(CONTRAST) == [], theme
        assert set(browser.run(INKS)) == {ink}, theme
    assert [len(set(colors)) for colors in zip(*seen)] == [2, 2, 2]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_theme_of_the_system_is_taken(theme: str, simple: Path) -> None:
    """In a browser of its own, where nothing was ever chosen. The browser keeps the theme that another test chose, and
    `localStorage.clear()` is lost now and then if the next document gets a process of its own: the old theme is back.
    """
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as browser:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        browser.open(simple, 1280)
        assert browser.run("document.documentElement.dataset.theme") == theme


def test_prints_open_what_is_folded(simple: Path, browser: Browser) -> None:
    browser.open(simple, 1280)
    folded = "document.querySelectorAll('details:not([open])').length"
    before = browser.run(folded)
    others = browser.run("document.querySelectorAll('.unprinted:not([open])').length")  # instances but the first
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert before > others == browser.run(folded) > 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(folded) == before


def test_the_complaints_can_tell(tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<body><script>console.error('no'); missing();</script><p style='color:#aaa'>weak</p>"
                    "<div style='width:2000px'>x</div>"
                    "<div class='drawing'><svg width='20' height='20'><text x='5' y='15'>cut</text></svg></div>"
                    "<pre style='width:6em;white-space:pre-wrap'>abc --options</pre></body>")  # fmt: skip
    browser.open(page, 390, mobile=True)
    assert len(browser.complaints()) == 2
    assert browser.run("document.documentElement.scrollWidth") > 390
    assert browser.run(CONTRAST) == ["P. 2.32"]
    assert browser.run(BROKEN) == ["--options"]
    assert browser.run(CUT) == ["cut"]
