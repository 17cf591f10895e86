// Numbers as the program writes them: format_bytes and format_count of core/base/message_text.h.
function formatBytes(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${formatNumber(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`;
}

// Halves go to the even digit, as in C, not up as in toFixed: 8.125 to 8.12. They are common among sizes in powers of
// two.
function formatNumber(value, digits) {
  const scaled = value * 10 ** digits;
  const below = Math.floor(scaled);
  const rounded = scaled - below === 0.5 ? below + (below % 2) : Math.round(scaled);
  return (rounded / 10 ** digits).toFixed(digits);
}

function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function counted(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// "all 64", or "0 to 31 of 64".
function formatPart(first, size, whole) {
  if (size === whole) return `all ${formatCount(whole)}`;
  return `${formatCount(first)} to ${formatCount(first + size - 1)} of ${formatCount(whole)}`;
}
