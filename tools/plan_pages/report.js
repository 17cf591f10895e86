// The page: charts of devices and their table go together, and lead to what sits on a device.

function showDevices(work, section, { devices, devices_per_node: nodeSize }, onChoose) {
  const table = section.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const head = [...table.tHead.rows[0].cells];
  const titles = head.map((cell) => cell.textContent);
  const textOf = (device) => `device ${device}: ` + [...rows[device].cells].slice(1)
    .map((cell, i) => `${titles[i + 1]} ${cell.textContent}`).join(", ");
  const readout = element("p", { id: "readout" }, "Point at a device, or use the arrow keys, to read its figures.");
  const point = (device) => {
    readout.textContent = textOf(device);
    for (const chart of charts) chart.pointAt(device);
  };
  const chart = (options) => new ColumnChart({ ...options, nodeSize, textOf, onPoint: point, onChoose });
  const series = (names, columns) => names.map((name) => ({ name, values: columns[name] }));
  const terms = Object.keys(devices.terms);
  const sumOf = (names, device) => names.reduce((sum, name) => sum + devices.terms[name][device], 0);
  const total = (device) => sumOf(terms, device);
  const ofWork = terms.filter((name) => name !== "waiting");
  const memory = ["weights", "optimizer", "buffers", "reserved", "free"];
  const capacity = rows.map((_, device) => memory.reduce((sum, name) => sum + devices[name][device], 0));
  const charts = [
    chart({
      title: "Work and waiting by device (triangle: it decides; dashes: mean work)",
      series: series(terms, devices.terms),
      mean: rows.reduce((sum, _, device) => sum + sumOf(ofWork, device), 0) / rows.length,
      weightOf: (device) => sumOf(ofWork, device),
      marked: rows.findIndex((row) => row.classList.contains("deciding")),
      unit: { size: 1, name: "ms" },
    }),
    chart({
      title: "Memory of each device",
      series: series(memory.filter((name) => devices[name].some((bytes) => bytes !== 0)), devices),
      weightOf: (device) => -devices.free[device],
      unit: unitOfBytes(Math.max(...capacity)),
    }),
  ];
  work.append(charts[0].figure, readout);
  work.hidden = false;
  section.querySelector(".table").before(charts[1].figure);
  for (const each of charts) each.draw();

  const keys = [
    (device) => device, total,
    ...terms.map((name) => (device) => devices.terms[name][device]),
    ...[...memory, "slices"].map((name) => (device) => devices[name][device])];
  const numbered = rows.map((_, device) => device);
  makeSortable(head, (column, sign) => {
    const order = sortedBy(numbered, keys[column], sign);
    table.tBodies[0].append(...order.map((device) => rows[device]));
    for (const each of charts) each.setOrder(order);
  });
  rows.forEach((row, device) => {
    const cell = row.cells[0];
    const button = element("button", { type: "button", className: "link", title: `What sits on device ${device}` },
      ...cell.childNodes);
    button.addEventListener("click", () => onChoose(device));
    cell.append(button);
    row.addEventListener("pointerenter", () => point(device));
  });
  return rows;
}

function unitOfBytes(bytes) {
  const [, name] = formatBytes(bytes).split(" ");
  return { size: 1024 ** ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].indexOf(name), name };
}

function showMoves(section, { tables, moves }) {
  const nameOf = (move) => tables.name[moves.table[move]];
  const list = new DataTable({
    label: "What has to be moved",
    rows: moves.table.length,
    columns: [
      { name: "table", text: true, key: nameOf, cell: nameOf },
      { name: "to device", key: (i) => moves.to[i], cell: (i) => String(moves.to[i]) },
      {
        name: "from",
        key: (i) => moves.from[i],
        cell: (i) => (moves.from[i] < 0 ? "no device" : String(moves.from[i])),
      },
      {
        name: "columns",
        key: (i) => moves.dim[i],
        cell: (i) => formatPart(moves.first_column[i], moves.dim[i], tables.dim[moves.table[i]]),
      },
      {
        name: "rows",
        key: (i) => moves.rows[i],
        cell: (i) => formatPart(moves.first_row[i], moves.rows[i], tables.rows[moves.table[i]]),
      },
      { name: "memory", key: (i) => moves.bytes[i], cell: (i) => formatBytes(moves.bytes[i]) },
    ],
  });
  section.append(...list.parts);
  section.hidden = false;
  list.draw();
}

// Names of tables in panels lead to their slices.
function linkTables(onChoose) {
  for (const cell of document.querySelectorAll(".panel th.name")) {
    const name = cell.textContent;
    const title = `Where ${name} sits`;
    const button = element("button", { type: "button", className: "link", title }, ...cell.childNodes);
    button.addEventListener("click", () => onChoose(name));
    cell.append(button);
  }
}

function showReport() {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.devices) return;
  const section = document.getElementById("placement");
  const placement = new Placement(section, data, data.devices.free.length);
  const rows = showDevices(document.getElementById("work"), document.getElementById("devices"), data, (device) => {
    placement.choose(device);
    rows.forEach((row, i) => row.classList.toggle("chosen", i === device));
    section.scrollIntoView();
  });
  linkTables((name) => {
    placement.find(name);
    section.scrollIntoView();
  });
  if (data.moves) showMoves(document.getElementById("moves"), data);
}

showReport();
