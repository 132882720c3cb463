import init, { start, status, picture, sort_bench } from "./kiln_viewer.js";
const query = new URLSearchParams(location.search);
let token = query.get("token");
let stored = false;
try {
if (token) localStorage.setItem("token", token);
token = localStorage.getItem("token");
stored = true;
} catch {
if (token) document.getElementById("comparisons").search = new URLSearchParams({ token });
}
const root = document.documentElement;
try {
await init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
start(token ?? undefined, stored);
window.kiln = { status, picture, sort_bench };
const list = await fetch(`comparisons.json${token ? `?${new URLSearchParams({ token })}` : ""}`).catch(() => undefined);
document.getElementById("or-comparisons").hidden = !list?.ok || (await list.json()).length === 0;
} catch (error) {
root.dataset.state = "failed";
const message = document.createElement("p");
message.setAttribute("role", "alert");
message.textContent = `The viewer does not start in this browser (${error}). It needs WebAssembly with SIMD.`;
document.getElementById("messages").append(message);
}
