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
  return answer.json();
}

function add(parent, name, text, kind) {
  const element = parent.appendChild(document.createElement(name));
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// A table of rows; each column has a heading, what a row shows in it, and what it is sorted by.
function table(title, rows, columns) {
  const section = add(by("tables"), "section");
  add(section, "h2", title);
  const whole = add(section, "table");
  const head = add(add(whole, "thead"), "tr");
  const body = add(whole, "tbody");
  const fill = () => {
    body.replaceChildren();
    for (const row of rows) {
      const line = add(body, "tr");
      for (const column of columns) column.show(row, add(line, "td", undefined, column.text && "text"));
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

function show(path, file, runs) {
  by("tables").replaceChildren();
  by("command").textContent = file.command;
  const folder = path.slice(0, path.lastIndexOf("/"));
  const text = (key) => ({ title: key, text: true, key: (row) => row[key], show: (row, cell) => (cell.textContent = row[key]) });
  const labels = file.labels.map(text);
  const count = { title: "n", key: (row) => row.n, show: (row, cell) => (cell.textContent = row.n) };
  const mean = ({ key, title, digits }) => ({
    title,
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
  const seed = { title: "seed", key: (row) => row.seed, show: (row, cell) => (cell.textContent = row.seed) };
  const plain = ({ key, title, digits }) => ({
    title,
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
  add(add(by("messages"), "p"), "span", String(error)).setAttribute("role", "alert");
}

await start().catch(complain);
document.documentElement.dataset.state = "ready";
