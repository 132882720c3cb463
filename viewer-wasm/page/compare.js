// Shows the files that `cargo lab compare` and `cargo lab antialias` write: means, and the runs behind them.
let token = new URLSearchParams(location.search).get("token");
try {
  if (token) {
    localStorage.setItem("token", token);
    history.replaceState(null, "", location.pathname);
  }
  token = localStorage.getItem("token");
} catch {
  // It stays in the address.
}
const by = (id) => document.getElementById(id);
const url = (path, more = {}) => {
  const query = new URLSearchParams({ ...(token && { token }), ...more });
  return `${path}?${query}`;
};

async function read(path) {
  const answer = await fetch(url(path.split("/").map(encodeURIComponent).join("/")), { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json().catch(() => {
    throw new Error(`${path} is no JSON`);
  });
}

function add(parent, name, text, kind) {
  const element = parent.appendChild(document.createElement(name));
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// 1 where more is better, -1 where less is, 0 where nobody can say.
const better = (key) => (/psnr|ssim|its|covered|f1|f_score/.test(key) ? 1 : /lpips|^l1|second|minutes|bytes|mib|chamfer/.test(key) ? -1 : 0);

// The best value of a column, where there are others than it.
function best(rows, column) {
  const values = rows.map((row) => column.value?.(row)).filter((value) => value != null);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least < most ? { 1: most, [-1]: least }[better(column.name ?? "")] : undefined;
}

// A table of rows; each column has a heading, what a row shows in it, and what it is sorted by.
function table(title, rows, columns) {
  const section = add(by("tables"), "section");
  add(section, "h2", title);
  const whole = add(add(section, "div", undefined, "scroll"), "table");
  const head = add(add(whole, "thead"), "tr");
  const body = add(whole, "tbody");
  const leaders = columns.map((column) => best(rows, column));
  const fill = () => {
    body.replaceChildren();
    for (const row of rows) {
      const line = add(body, "tr");
      columns.forEach((column, at) => {
        const leads = leaders[at] !== undefined && column.value(row) === leaders[at];
        column.show(row, add(line, "td", undefined, column.text ? "text" : leads ? "best" : undefined));
      });
    }
  };
  for (const column of columns) {
    const button = add(add(head, "th", undefined, column.text && "text"), "button", column.title, "quiet");
    let sign = 1;
    button.onclick = () => {
      const order = (a, b) => (a === b ? 0 : (a ?? -Infinity) < (b ?? -Infinity) ? -sign : sign);
      rows.sort((a, b) => order(column.key(a), column.key(b)));
      sign = -sign;
      fill();
    };
  }
  fill();
}

const SVG = "http://www.w3.org/2000/svg";

function draw(parent, name, attributes, text) {
  const element = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Means of a column as points, from the least to the most of their seeds a line.
function spans(parent, rows, { key, title, digits }, label) {
  const known = rows.filter((row) => row[key]);
  const low = Math.min(...known.map((row) => row[key].min)), high = Math.max(...known.map((row) => row[key].max));
  const [text, width, height] = [220, 420, 22];
  const x = (value) => text + 10 + (high > low ? (value - low) / (high - low) : 0.5) * (width - 20);
  const said = known.map((row) => `${label(row)} ${row[key].mean.toFixed(digits)}`).join("; ");
  const size = [text + width, height * known.length + 24];
  const picture = draw(parent, "svg", { class: "spans", viewBox: `0 0 ${size.join(" ")}`, role: "img", "aria-label": `${title}: ${said}` });
  known.forEach((row, at) => {
    const [y, { mean, min, max }] = [height * at + 12, row[key]];
    const words = label(row);
    draw(draw(picture, "text", { x: text, y: y + 4, "text-anchor": "end" }, words.length > 34 ? `${words.slice(0, 33)}…` : words), "title", {}, words);
    draw(picture, "line", { x1: x(min), x2: x(max), y1: y, y2: y });
    draw(draw(picture, "circle", { cx: x(mean), cy: y, r: 4 }), "title", {}, `${words}: ${mean.toFixed(digits)}`);
  });
  const y = size[1] - 4;
  draw(picture, "text", { x: x(low), y, class: "faint" }, low.toFixed(digits));
  if (high > low) draw(picture, "text", { x: x(high), y, class: "faint", "text-anchor": "end" }, high.toFixed(digits));
}

// A chart of the means, of the column that is chosen.
function chart(file) {
  const columns = file.columns.filter(({ key }) => file.means.filter((row) => row[key]).length > 1);
  if (columns.length === 0) return;
  const section = add(by("tables"), "section");
  const bar = add(section, "p", undefined, "bar");
  const choice = add(add(bar, "label", "Chart of "), "select");
  for (const { title } of columns) add(choice, "option", title);
  const place = add(section, "div", undefined, "scroll");
  const label = (row) => file.labels.map((name) => row[name]).join(" ");
  choice.onchange = () => {
    place.replaceChildren();
    spans(place, file.means, columns[choice.selectedIndex], label);
  };
  choice.onchange();
}

function show(path, file, runs) {
  try {
    fill(path, file, runs);
  } catch {
    by("tables").replaceChildren();
    throw new Error(`${path} is no comparison that this page knows: cargo lab compare did not write it, or another version did`);
  }
}

function fill(path, file, runs) {
  by("tables").replaceChildren();
  by("command").textContent = "";
  by("command").textContent = file.command;
  const folder = path.slice(0, path.lastIndexOf("/"));
  const text = (key) => ({ title: key, text: true, key: (row) => row[key], show: (row, cell) => (cell.textContent = row[key]) });
  const labels = file.labels.map(text);
  const count = { title: "n", key: (row) => row.n, show: (row, cell) => (cell.textContent = row.n) };
  const mean = ({ key, title, digits }) => ({
    title,
    name: key,
    value: (row) => row[key]?.mean,
    key: (row) => row[key]?.mean,
    show: (row, cell) => {
      const value = row[key];
      cell.textContent = value ? value.mean.toFixed(digits) : "-";
      if (value?.std != null) {
        add(cell, "small", ` ± ${value.std.toFixed(digits)}`);
        cell.title = `${value.min.toFixed(digits)} to ${value.max.toFixed(digits)}`;
      }
    },
  });
  if (file.rows[0]?.worst_view) labels.push(text("worst_view"));
  table("Means", file.means, [...labels, count, ...file.columns.map(mean)]);
  chart(file);
  const seed = { title: "seed", key: (row) => row.seed, show: (row, cell) => (cell.textContent = row.seed) };
  const plain = ({ key, title, digits }) => ({
    title,
    name: key,
    value: (row) => row[key],
    key: (row) => row[key],
    show: (row, cell) => (cell.textContent = row[key] == null ? "-" : row[key].toFixed(digits)),
  });
  const run = {
    title: "run", text: true, key: (row) => row.run,
    show: (row, cell) => {
      const own = `${folder}/${row.run}`;
      const link = add(cell, runs.includes(own) ? "a" : "span", row.run, runs.includes(own) ? "link" : "faint");
      if (link.href === "") link.href = url("./", { run: own });
      cell.title = row.command;
    },
  };
  table("Runs", file.rows, [...labels, seed, ...file.columns.map(plain), text("device"), text("commit"), run]);
}

async function start() {
  by("home").href = url("./");
  const [files, runs] = await Promise.all([read("comparisons.json"), read("runs.json")]);
  const choice = by("file");
  choice.hidden = files.length === 0;
  for (const path of files) add(choice, "option", path);
  choice.onchange = async () => {
    by("messages").replaceChildren();
    await read(choice.value).then((file) => show(choice.value, file, runs)).catch(complain);
  };
  if (files.length === 0) by("command").textContent = "No comparison here; cargo lab compare writes them.";
  else await choice.onchange();
}

function complain(error) {
  add(add(by("messages"), "p"), "span", error.message).setAttribute("role", "alert");
}

await start().catch(complain);
document.documentElement.dataset.state = "ready";
