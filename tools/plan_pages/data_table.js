const kPageRows = 200;

// Puts a button into each cell of the head that sorts by its column: first by the lowest, text by the alphabet;
// again: by the highest. onSort(column, sign) does it.
function makeSortable(headCells, onSort) {
  headCells.forEach((cell, column) => {
    const button = element("button", { type: "button" }, ...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const descending = cell.getAttribute("aria-sort") === "ascending";
      for (const other of headCells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
      onSort(column, descending ? -1 : 1);
    });
  });
}

// Indices of rows by a key; equal ones stay in their order.
function sortedBy(indices, keyOf, sign) {
  const collator = new Intl.Collator(undefined, { numeric: true });
  return indices.slice().sort((a, b) => {
    const [first, second] = [keyOf(a), keyOf(b)];
    return sign * (typeof first === "string" ? collator.compare(first, second) : first - second);
  });
}

// A table of many rows, which are made when they are to be seen: some at first, more on request, all for a printer.
class DataTable {
  // columns: [{name, key, cell, text}]: key(row) to sort by, cell(row) text or an element; text: to the left.
  constructor({ label, columns, rows }) {
    this.columns = columns;
    this.rows = Array.from({ length: rows }, (_, row) => row);
    this.keep = () => true;
    this.shown = kPageRows;
    const head = columns.map(({ name, text }) => element("th", { scope: "col", className: text ? "text" : "" }, name));
    makeSortable(head, (column, sign) => {
      this.rows = sortedBy(this.rows, columns[column].key, sign);
      this.draw();
    });
    this.body = element("tbody");
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), this.body);
    table.setAttribute("aria-label", label);
    this.more = element("button", { type: "button", className: "plain more" });
    this.more.addEventListener("click", () => this.show(this.shown + 5 * kPageRows));
    const scroller = element("div", { className: "table", tabIndex: 0 }, table);
    scroller.setAttribute("role", "region");
    scroller.setAttribute("aria-label", label);
    this.parts = [scroller, this.more];
    window.addEventListener("beforeprint", () => this.show(Infinity));
    window.addEventListener("afterprint", () => this.show(kPageRows));
  }

  // Keeps the rows for which `keep` is true; these.
  filter(keep) {
    this.keep = keep;
    this.shown = kPageRows;
    return this.draw();
  }

  show(count) {
    this.shown = count;
    this.draw();
  }

  draw() {
    const kept = this.rows.filter(this.keep);
    const drawn = kept.slice(0, this.shown);
    this.body.replaceChildren(...drawn.map((row) => element("tr", {}, ...this.columns.map(({ cell, text }) =>
      element("td", { className: text ? "text" : "" }, cell(row))))));
    this.more.hidden = drawn.length === kept.length;
    this.more.textContent = `Show more of ${formatCount(kept.length)}`;
    return kept;
  }
}
