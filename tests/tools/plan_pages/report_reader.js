// Does what a reader of a report would do, by mouse and by keyboard; what then is on the page is put, as JSON, into an
// element of its own. kBytes: numbers to be written as the page writes them.
const seen = {};
const one = (selector) => document.querySelector(selector);
const rows = () => [...document.querySelectorAll("#placement tbody tr")]
  .map((row) => [...row.cells].map((cell) => cell.textContent).join("|"));
const enter = (selector, value) => {
  one(selector).value = value;
  one(selector).dispatchEvent(new Event("input"));
};
const sort = (section, column) => one(`#${section} th:nth-child(${column}) button`).click();
const press = (key) => one("[role=slider]").dispatchEvent(new KeyboardEvent("keydown", { key }));

seen.background = getComputedStyle(document.body).backgroundColor;
seen.sideways = document.documentElement.scrollWidth > document.documentElement.clientWidth;
seen.panels = {};
for (const panel of document.querySelectorAll(".figures, .panel")) {
  const { top, bottom, left, right } = panel.getBoundingClientRect();
  const inside = left >= 0 && right <= innerWidth && panel.scrollWidth <= panel.clientWidth;
  seen.panels[panel.id || "figures"] = { shown: top < bottom, above: bottom <= innerHeight, inside };
}
if (one("#search")) {
  seen.rows = rows().length;
  one("#placement .more").click();
  seen.allRows = rows().length;
  seen.count = one("output").textContent;
  seen.clipped = [...document.querySelectorAll("thead th")]
    .filter((head) => head.textContent !== "" && head.checkVisibility())
    .filter((head) => {
      const range = document.createRange();
      range.selectNodeContents(head);
      const [cell, text] = [head, range].map((of) => of.getBoundingClientRect());
      return text.left < cell.left - 1 || text.right > cell.right + 1;
    })
    .map((head) => head.textContent);
  seen.shared = one("#work .shared").textContent;
  seen.charts = document.querySelectorAll("svg .series").length;
  enter("#search", "NEEDLE");
  seen.needle = rows();
  enter("#search", "");
  enter("#device", "1");
  seen.deviceOne = rows();
  enter("#device", "");
  one("#costliest .link").click();
  seen.costliest = one("#search").value;
  enter("#search", "");
  sort("placement", 5);
  seen.smallest = rows()[0];
  sort("placement", 5);
  seen.largest = rows()[0];
  seen.sorted = one("#placement th:nth-child(5)").getAttribute("aria-sort");
  sort("devices", 2);
  seen.devices = [...document.querySelectorAll("#devices tbody th")].map((cell) => cell.textContent);
  press("ArrowRight");
  seen.cheapest = one("[role=slider]").getAttribute("aria-valuetext");
  press("End");
  press("Enter");
  seen.dearest = one("#device").value;
  seen.bytes = kBytes.map(formatBytes);
}
seen.markup = document.querySelectorAll("main b, main img, h1 *").length;
seen.attacked = window.attacked === true;
const result = document.createElement("pre");
result.id = "seen";
// Without what HTML would write otherwise.
result.textContent = JSON.stringify(seen).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
document.body.append(result);
