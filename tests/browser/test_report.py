"""The report in a browser: offline, without scripts, light and dark, on a phone, by keyboard, on paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import muster
from muster.cli.evaluate import DEMO
from muster.sources import samples
from tests.browser.conftest import Opened

pytestmark = pytest.mark.browser
NASTY = ["<script>alert(1)</script>", "مرحبا \u202e abc", "🙂" * 30, "x" * 200, "</title><b>", "a&b", "plain"]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = muster.evaluate(samples.path("digits"), **DEMO, draws=200)
    return run.report(tmp_path_factory.mktemp("browser") / "run")


@pytest.fixture(scope="session")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    unit, truth = np.repeat(np.array(NASTY, dtype=object), 40), rng.integers(0, 2, 280)
    guess = np.where(rng.random(280) < 0.8, truth, 1 - truth)
    run = muster.evaluate(
        truth=truth,
        guess=guess,
        unit=unit,
        slices={"<i>": unit},
        model="<img src=x onerror=alert(1)>",
        draws=50,
    )
    return run.report(tmp_path_factory.mktemp("nasty") / "run")


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = {
        "training": {"rounds": 24, "warmup": 5, "epochs": 1}, "drift": {"drift_round": 16},
        "watch": {"items": 50}, "study": {"seeds": 2, "draws": 50},
    }  # fmt: skip
    return muster.federation.simulate(asked).report(tmp_path_factory.mktemp("federation") / "run")


def _live(page: Page) -> None:
    """Scroll through the page until every chart is live."""
    expect(page.locator("html")).to_have_attribute("data-ready", "yes")
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-live", "yes")


def test_the_page_is_readable_with_scripts_off(demo: Path, opened: Opened) -> None:
    page = opened(demo, java_script_enabled=False)

    expect(page.get_by_role("heading", level=1)).to_have_text("Evaluation of digits")
    assert page.locator("figure svg").count() == 10
    assert page.locator("figure svg text").count() > 50
    expect(page.locator("#worst-units tbody tr").first).to_contain_text("clinic-07")
    assert not page.locator(".tools").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_goes_live_and_keeps_its_name(scheme: str, demo: Path, opened: Opened) -> None:
    page = opened(demo, color_scheme=scheme)
    said = [svg.get_attribute("aria-label") for svg in page.locator("figure svg").all()]
    _live(page)
    again = [svg.get_attribute("aria-label") for svg in page.locator("figure svg").all()]

    assert again == said
    assert all(said)
    assert {svg.get_attribute("role") for svg in page.locator("figure svg").all()} == {"graphics-document"}


def test_colours_follow_the_theme(demo: Path, opened: Opened) -> None:
    page = opened(demo, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    page.get_by_role("button", name="Light").click()

    assert page.evaluate(ground) == "rgb(255, 255, 254)"
    assert "theme=light" in page.url
    _live(page)
    assert page.locator('figure svg [fill="#0072b2"], figure svg [stroke="#0072b2"]').count() > 0


def test_units_are_searched_filtered_and_sorted_and_the_address_remembers(demo: Path, opened: Opened) -> None:
    page = opened(demo)
    table = page.locator("#worst-units")
    table.get_by_label("Search").fill("clinic-1")
    expect(table.locator("output")).to_have_text("3 of 12 rows")
    table.get_by_role("button", name="rows").click()
    rows = [row.inner_text().split()[0] for row in table.locator("tbody tr:visible").all()]
    assert rows == ["clinic-12", "clinic-11", "clinic-10"]
    again = opened(demo, query="?" + page.url.partition("?")[2])

    expect(again.locator("#worst-units output")).to_have_text("3 of 12 rows")
    assert [r.inner_text().split()[0] for r in again.locator("#worst-units tbody tr:visible").all()] == rows
    again.locator("#worst-units").get_by_label("Search").fill("")
    again.locator("#worst-units").get_by_label("Only").select_option("under-served")
    expect(again.locator("#worst-units output")).to_have_text("1 of 12 rows")


def test_the_keyboard_reaches_everything(demo: Path, opened: Opened) -> None:
    page = opened(demo)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.tagName + (document.activeElement.getAttribute('role') || '')"
            )
        )

    assert reached >= {"BUTTON", "A", "INPUT", "SELECT", "SUMMARY", "DIVregion"}


def test_every_chart_has_its_numbers_beside_it(demo: Path, opened: Opened) -> None:
    page = opened(demo)
    _live(page)
    for figure in page.locator("figure").all():
        figure.locator("summary").click()
        expect(figure.locator("tbody tr").first).to_be_visible()


@pytest.mark.parametrize("width", [400, 1100])
def test_nothing_is_wider_than_the_window(width: int, demo: Path, nasty: Path, opened: Opened) -> None:
    for file in (demo, nasty):
        page = opened(file, width=width)
        expect(page.locator("html")).to_have_attribute("data-ready", "yes")

        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints(demo: Path, opened: Opened) -> None:
    page = opened(demo)
    page.emulate_media(media="print")

    assert not page.locator("nav").is_visible()
    assert page.locator("figure svg").first.is_visible()
    assert len(page.pdf()) > 50_000


def test_names_that_would_do_harm_are_text(nasty: Path, opened: Opened) -> None:
    page = opened(nasty)
    _live(page)

    shown = [row.locator("td").first.inner_text() for row in page.locator("#worst-units tbody tr").all()]
    assert sorted(shown) == sorted(NASTY)
    assert page.locator("main script, main img, main b").count() == 0
    expect(page.get_by_role("heading", level=1)).to_have_text("Evaluation of <img src=x onerror=alert(1)>")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_federation_goes_live(federation: Path, opened: Opened, scheme: str) -> None:
    page = opened(federation, color_scheme=scheme)
    _live(page)

    expect(page.get_by_role("heading", level=1)).to_have_text("Federation under drift")
    assert page.locator("figure").count() == 15
    expect(page.locator("#arms-drifted-units tbody tr").first).to_contain_text("cluster")
    expect(page.get_by_role("heading", name="Was the drift seen?")).to_be_visible()
