import init, { Reading } from "./kiln_viewer.js";
const ready = init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
const models = new Map();
const AHEAD = 6;
let ahead = 0;
let onTaken = () => {};
async function open({ url, fresh, file }) {
if (file) {
const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
const packed = first === 0x1f && second === 0x8b;
const body = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
return { body, total: packed ? 0 : file.size, broken: packed ? "the gzip file is damaged or cut off" : "the file went away" };
}
const answer = await fetch(url, { cache: fresh ? "no-store" : "default", referrerPolicy: "no-referrer" }).catch(() => ({ status: 0 }));
if (!answer.ok) throw answer.status;
const total = answer.headers.has("Content-Encoding") ? 0 : Number(answer.headers.get("Content-Length"));
return { body: answer.body, total, broken: "the connection broke" };
}
async function read({ number, name, stated, ...source }) {
const reading = new Reading(name);
models.set(number, reading);
const wanted = () => models.get(number) === reading;
const give = async (share) => {
for (let piece; wanted() && (piece = reading.take()); ) {
while (ahead >= AHEAD && wanted()) await new Promise((resolve) => (onTaken = resolve));
ahead += 1;
self.postMessage({ number, share, ...piece }, piece.geometry ? [piece.geometry.buffer, piece.sh.buffer] : []);
}
};
try {
const { body, total, broken } = await open(source);
const all = total || stated;
const stream = body.getReader();
for (let got = 0; ; ) {
const { value } = await stream.read().catch(() => { throw broken; });
if (!wanted()) return stream.cancel();
if (!value) break;
got += value.length;
reading.push(value);
self.postMessage({ number, share: all ? got / all : 0.5 });
await give(all ? got / all : 0.5);
}
const end = reading.finish();
await give(1);
if (wanted()) self.postMessage({ number, end });
} catch (error) {
if (wanted()) self.postMessage({ number, failed: error });
}
}
self.onmessage = async ({ data }) => {
const { kind, number } = data;
try {
await ready;
if (kind === "read" || kind === "keep") {
for (const [old, model] of models) {
if (!data.kept.includes(old)) {
models.delete(old);
model.free();
}
}
onTaken();
if (kind === "read") read(data);
} else if (kind === "taken") {
ahead -= 1;
onTaken();
} else {
const model = models.get(number);
const start = performance.now();
const order = model ? model.sort(data.sight) : new Uint32Array();
const ms = performance.now() - start;
self.postMessage({ number, id: data.id, order, ms }, [order.buffer]);
}
} catch (error) {
self.postMessage({ number, broke: String(error) });
}
};
