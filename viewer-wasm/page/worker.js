// The worker: reads models and orders their splats by depth, in a second instance of the module.
import init, { Reading } from "./kiln_viewer.js";

const ready = init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
// What was read of each model, by its number.
const models = new Map();
// Pieces that the page has not taken yet: with more of them only its memory would grow.
const AHEAD = 6;
let ahead = 0;
let onTaken = () => {};
// Milliseconds before each further attempt to get the rest of a file whose connection broke, until one brings a byte.
const PAUSES = [500, 2000, 5000];
const GAVE_UP = "the connection broke, and the server did not send the rest when asked again; reload the page when it answers";

// The bytes of a file of the server, or of the reader: those of a gzip file are unpacked.
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
  return { body: answer.body, total, version: versionOf(answer), broken: GAVE_UP };
}

// What a server says of a file's version, where it says anything.
function versionOf({ headers }) {
  return headers.get("ETag") ?? headers.get("Last-Modified");
}

// The rest of a file of the server from a byte on, or undefined. Only the same file goes on: one of the same length and version.
// A server without Range sends all of it again. A snapshot is another file each time.
async function openRest({ url, fresh }, from, { total, version }, pauses, wanted) {
  while (url && !fresh && total && pauses.length) {
    await new Promise((resolve) => setTimeout(resolve, pauses.shift()));
    if (!wanted()) return undefined;
    const answer = await fetch(url, { cache: "no-store", headers: { Range: `bytes=${from}-` }, referrerPolicy: "no-referrer" }).catch(() => undefined);
    if (!answer?.ok || versionOf(answer) !== version) continue;
    if (answer.status === 206) {
      if (answer.headers.get("Content-Range") === `bytes ${from}-${total - 1}/${total}`) return answer.body;
    } else if (Number(answer.headers.get("Content-Length")) === total) {
      let known = from;
      const skip = (bytes, controller) => {
        if (bytes.length > known) controller.enqueue(bytes.subarray(known));
        known = Math.max(known - bytes.length, 0);
      };
      return answer.body.pipeThrough(new TransformStream({ transform: skip }));
    }
    await answer.body.cancel();
  }
  return undefined;
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
    const opened = await open(source);
    const all = opened.total || stated;
    let stream = opened.body.getReader();
    let pauses = [...PAUSES];
    for (let got = 0; ; ) {
      const part = await stream.read().catch(() => undefined);
      if (!wanted()) return stream.cancel().catch(() => {});
      if (!part) {
        const rest = await openRest(source, got, opened, pauses, wanted);
        if (!wanted()) return rest?.cancel();
        if (!rest) throw opened.broken;
        stream = rest.getReader();
        continue;
      }
      const { value } = part;
      if (!value) break;
      got += value.length;
      pauses = [...PAUSES];
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
