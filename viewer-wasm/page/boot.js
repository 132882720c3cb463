// Starts the page.
import init, { start, status, picture, sort_bench } from "./kiln_viewer.js";

const token = new URLSearchParams(location.search).get("token");
if (token) document.getElementById("comparisons").search = new URLSearchParams({ token });
const root = document.documentElement;
try {
  await init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
  start();
  window.kiln = { status, picture, sort_bench };
} catch (error) {
  root.dataset.state = "failed";
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.textContent = `The viewer does not start in this browser (${error}). It needs WebAssembly with SIMD.`;
  document.getElementById("messages").append(message);
}
