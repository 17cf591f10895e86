// Every slice and replicated table, found by name of its table or by device. A replica is on all devices, and its
// device is -1.
class Placement {
  constructor(section, { tables, slices }, devices) {
    this.tables = tables;
    this.slices = slices;
    this.devices = devices;
    const tableOf = (slice) => slices.table[slice];
    this.list = new DataTable({
      label: "What sits where",
      rows: slices.table.length,
      columns: [
        { name: "table", text: true, key: (i) => tables.name[tableOf(i)], cell: (i) => tables.name[tableOf(i)] },
        { name: "device", key: (i) => slices.device[i], cell: (i) => (slices.device[i] < 0 ? "all" : String(slices.device[i])) },
        {
          name: "columns",
          key: (i) => slices.dim[i],
          cell: (i) => formatPart(slices.first_column[i], slices.dim[i], tables.dim[tableOf(i)]),
        },
        {
          name: "rows",
          key: (i) => slices.rows[i],
          cell: (i) => formatPart(slices.first_row[i], slices.rows[i], tables.rows[tableOf(i)]),
        },
        { name: "memory", key: (i) => slices.bytes[i], cell: (i) => formatBytes(slices.bytes[i]) },
      ],
    });
    this.search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: false });
    this.device = element("input", { type: "number", id: "device", min: 0, max: devices - 1, placeholder: "all" });
    this.count = element("output");
    this.count.htmlFor = "search device";
    const everything = element("button", { type: "button", className: "plain" }, "Show everything");
    everything.addEventListener("click", () => this.find(""));
    for (const input of [this.search, this.device]) input.addEventListener("input", () => this.update());
    section.append(
      element("div", { className: "controls" }, element("label", {}, "Table", this.search),
        element("label", {}, "Device", this.device), everything, this.count),
      ...this.list.parts);
    section.hidden = false;
    this.update();
  }

  // Only what is on `device`; "": on any.
  choose(device) {
    this.device.value = device;
    this.update();
  }

  // Only tables with `name` in theirs, on any device.
  find(name) {
    this.search.value = name;
    this.choose("");
  }

  update() {
    const { tables, slices } = this;
    const wanted = this.search.value.trim().toLowerCase();
    const device = this.device.value;
    const names = tables.name.map((name) => name.toLowerCase().includes(wanted));
    const replicated = (i) => slices.device[i] < 0;
    const kept = this.list.filter((i) =>
      names[slices.table[i]] && (device === "" || replicated(i) || slices.device[i] === Number(device)));
    const copies = device === "" ? this.devices : 1;
    const bytes = kept.reduce((sum, i) => sum + slices.bytes[i] * (replicated(i) ? copies : 1), 0);
    const found = new Set(kept.map((i) => slices.table[i])).size;
    const replicas = kept.filter(replicated).length;
    this.count.textContent = counted(kept.length - replicas, "slice") +
      (replicas > 0 ? ` and ${counted(replicas, "replicated table")}, ` : ` of ${counted(found, "table")}, `) +
      formatBytes(bytes);
  }
}
