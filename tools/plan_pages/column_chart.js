const kPrintedWidth = 700;  // Width of A4 and Letter.

// Stacked columns, one a device, drawn as one path a series, so that 1,024 are as quick as two. It is a slider:
// arrow keys go from device to device, Enter chooses one.
class ColumnChart {
  // series: [{name, values}], values by device. mean: a value with a line across; marked: a device with a triangle
  // above; both may be undefined. unit: {size, name} of the axis. nodeSize: devices of a node; ticks set
  // nodes apart while devices stand in their order. weightOf: of devices that share a pixel, the one with most is
  // drawn. onPoint, onChoose: functions of a device.
  constructor({ title, series, mean, marked, unit, nodeSize, weightOf, textOf, onPoint, onChoose }) {
    Object.assign(this, { series, mean, marked, unit, nodeSize, weightOf, textOf, onPoint });
    this.order = series[0].values.map((_, device) => device);
    this.position = -1;
    this.svg = svgElement("svg", { "aria-hidden": "true" });
    this.slider = element("div", { tabIndex: 0 }, this.svg);
    const attributes = {
      role: "slider",
      "aria-label": `${title}; arrow keys: next device, Enter: what sits on it`,
      "aria-valuemin": 0,
      "aria-valuemax": this.order.length - 1,
      "aria-valuenow": 0,
      "aria-valuetext": textOf(0),
    };
    for (const [key, value] of Object.entries(attributes)) this.slider.setAttribute(key, value);
    const keys = series.map(({ name }) => {
      const key = element("span", { className: "key" }, name);
      key.style.setProperty("--series", `var(--${name})`);
      return key;
    });
    this.shared = element("span", { className: "shared" });
    this.figure = element("figure", { className: "chart" },
      element("figcaption", {}, element("strong", {}, title), ...keys, this.shared), this.slider);

    this.slider.addEventListener("keydown", (event) => this.onKey(event, onChoose));
    this.svg.addEventListener("pointermove", (event) => this.onPoint(this.order[this.positionAt(event)]));
    this.svg.addEventListener("click", (event) => onChoose(this.order[this.positionAt(event)]));
    new ResizeObserver(() => this.draw()).observe(this.slider);
    window.addEventListener("beforeprint", () => this.draw(kPrintedWidth));
    window.addEventListener("afterprint", () => this.draw());
  }

  onKey(event, onChoose) {
    const last = this.order.length - 1;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    let position = this.position;
    if (event.key in steps) position += steps[event.key];
    else if (event.key === "Home") position = 0;
    else if (event.key === "End") position = last;
    else if (event.key === "Enter" && position >= 0) return onChoose(this.order[position]);
    else return;
    event.preventDefault();
    this.onPoint(this.order[Math.min(Math.max(position, 0), last)]);
  }

  positionAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * (this.width / box.width) - this.left;
    return Math.min(Math.max(Math.floor(x / this.slot), 0), this.order.length - 1);
  }

  // Devices from left to right.
  setOrder(order) {
    const device = this.order[this.position];
    this.order = order;
    this.draw();
    if (device !== undefined) this.pointAt(device);
  }

  pointAt(device) {
    this.position = this.order.indexOf(device);
    this.slider.setAttribute("aria-valuenow", this.position);
    this.slider.setAttribute("aria-valuetext", this.textOf(device));
    this.placeCursor();
  }

  placeCursor() {
    if (this.position < 0) return;
    const width = Math.max(this.slot, 2);
    this.cursor.setAttribute("x", this.left + this.slot * (this.position + 0.5) - width / 2);
    this.cursor.setAttribute("width", width);
  }

  // [{device, middle, width}] from left to right: no narrower than a pixel.
  columns() {
    const each = Math.ceil(1 / this.slot);
    const columns = [];
    for (let first = 0; first < this.order.length; first += each) {
      const devices = this.order.slice(first, first + each);
      const most = devices.reduce((a, b) => (this.weightOf(b) > this.weightOf(a) ? b : a));
      const room = devices.length * this.slot;
      const width = room < 4 ? room : Math.min(0.8 * room, 56);
      columns.push({ device: most, middle: this.left + this.slot * first + room / 2, width });
    }
    this.shared.textContent = each > 1 ? `(of each ${each} devices, the one with most)` : "";
    return columns;
  }

  draw(width = this.slider.clientWidth || kPrintedWidth) {
    if (width === this.width && this.order === this.drawn) return;
    Object.assign(this, { width, drawn: this.order, left: 52 });
    const height = 170;
    const [top, bottom] = [12, height - 22];
    this.slot = (width - this.left) / this.order.length;
    const columns = this.columns();
    const sums = this.order.map((device) => this.series.reduce((sum, { values }) => sum + drawable(values[device]), 0));
    const ticks = axisTicks(Math.max(...sums, this.unit.size * 1e-9) / this.unit.size);
    const scale = (bottom - top) / (ticks[ticks.length - 1] * this.unit.size);
    const yOf = (value) => bottom - value * scale;

    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren();
    const draw = (name, attributes, text = "") => this.svg.append(svgElement(name, attributes, text));
    for (const tick of ticks) {
      const y = yOf(tick * this.unit.size);
      draw("path", { class: "grid", d: `M${this.left} ${y}H${width}` });
      const label = tick === ticks[ticks.length - 1] ? ` ${this.unit.name}` : "";
      draw("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" }, String(Number(tick.toPrecision(6))) + label);
    }
    const below = columns.map(() => bottom);
    for (const { name, values } of this.series) {
      let path = "";
      columns.forEach(({ device, middle, width }, column) => {
        const size = drawable(values[device]) * scale;
        if (size <= 0) return;
        below[column] -= size;
        const [x, y, w, h] = [middle - width / 2, below[column], width, size].map((length) => length.toFixed(2));
        path += `M${x} ${y}h${w}v${h}h-${w}z`;
      });
      draw("path", { class: "series", style: `--series: var(--${name})`, d: path });
    }
    if (this.mean !== undefined) draw("path", { class: "mean", d: `M${this.left} ${yOf(this.mean)}H${width}` });
    const mark = columns.findIndex(({ device }) => device === this.marked);
    if (mark >= 0) draw("path", { class: "mark", d: `M${columns[mark].middle} ${below[mark] - 2}l-4.5 -7h9z` });
    const labelled = 2 ** Math.max(0, Math.ceil(Math.log2(34 / this.slot)));
    this.order.forEach((device, position) => {
      if (position % labelled !== 0) return;
      const x = this.left + this.slot * (position + 0.5);
      if (x + 14 < width) draw("text", { x, y: bottom + 16, "text-anchor": "middle" }, String(device));
    });
    if (this.slot * this.nodeSize >= 4 && this.order.every((device, position) => device === position)) {
      for (let node = this.nodeSize; node < this.order.length; node += this.nodeSize) {
        draw("path", { class: "node", d: `M${this.left + this.slot * node} ${bottom}v6` });
      }
    }
    this.cursor = svgElement("rect", { class: "cursor", y: top, height: bottom - top });
    this.svg.append(this.cursor);
    this.placeCursor();
  }
}

// Models can predict negative times, which have no length.
function drawable(value) {
  return Math.max(value ?? 0, 0);
}

// 0 and round numbers up to the first that is not below `high`.
function axisTicks(high) {
  const power = 10 ** Math.floor(Math.log10(high / 3));
  const step = [1, 2, 5, 10].map((multiple) => multiple * power).find((size) => high / size <= 4.5);
  const ticks = [];
  for (let i = 0; i === 0 || ticks[i - 1] < high; ++i) ticks.push(i * step);
  return ticks;
}
