// The worker: reads models and orders their splats by depth, in a second instance of the module.
import init, { Paging, Reading } from "./kiln_viewer.js";

const ready = init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
// What was read of each model, by its number.
const models = new Map();
// Pieces that the page has not taken yet: with more of them only its memory would grow.
const AHEAD = 6;
let ahead = 0;
let waiting = [];
// Chunks of a streamed model that are fetched at once. One that the connection or the server failed is asked for again so
// often, after so many milliseconds.
const AT_ONCE = 4;
const MORE = 2;
const LATER = 30000;
// How long news of streaming waits after an order, in times that the order took: reading takes the worker's time too.
const REST = 4;
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

// Hands over the parts of a file as they come, with the share that is there. A connection that breaks goes on where it was.
async function parts(source, stated, wanted, take) {
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
    if (!value) return;
    got += value.length;
    pauses = [...PAUSES];
    await take(value, all ? got / all : 0.5);
  }
}

// All of a file; a server that does not answer is asked again.
async function whole(url, wanted) {
  for (const pause of [...PAUSES, 0]) {
    const got = [];
    try {
      await parts({ url }, 0, wanted, (part) => got.push(part));
      return new Uint8Array(await new Blob(got).arrayBuffer());
    } catch (error) {
      if (!pause || (error > 0 && error < 500)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

// Hands over what was read of a model, no faster than the page takes it.
async function give(number, model, share) {
  const wanted = () => models.get(number) === model;
  for (;;) {
    while (ahead >= AHEAD && wanted()) await new Promise((resolve) => waiting.push(resolve));
    const piece = wanted() && model.take();
    if (!piece) return;
    ahead += 1;
    self.postMessage({ number, share, ...piece }, piece.geometry ? [piece.geometry.buffer, piece.sh.buffer] : []);
  }
}

function onTaken() {
  waiting.splice(0).forEach((resolve) => resolve());
}

async function read({ number, name, stated, budget, ...source }) {
  if (source.url && name.endsWith("lod-meta.json")) return stream(number, source.url, budget);
  const reading = new Reading(name);
  models.set(number, reading);
  const wanted = () => models.get(number) === reading;
  try {
    await parts(source, stated, wanted, async (part, share) => {
      reading.push(part);
      self.postMessage({ number, share });
      await give(number, reading, share);
    });
    if (!wanted()) return;
    const end = reading.finish();
    await give(number, reading, 1);
    if (wanted()) self.postMessage({ number, end });
  } catch (error) {
    if (wanted()) self.postMessage({ number, failed: error });
  }
}

// Begins to show a model of which a part is held at a time.
async function stream(number, url, budget) {
  const begun = {};
  models.set(number, begun);
  const wanted = () => models.get(number) === begun;
  try {
    const text = await whole(url, wanted);
    if (!wanted()) return;
    const model = new Paging(text, budget);
    models.set(number, model);
    // Of chunks that did not come: how often, and what is said of those that are not there.
    Object.assign(model, { base: new URL(url, location.href), fetching: 0, times: new Map(), lost: new Map(), rests: 0, told: false });
    page(number, model);
  } catch (error) {
    if (wanted()) self.postMessage({ number, failed: error });
  }
}

// Does what is due for a streamed model: asks for chunks, hands over pieces, and says how far it is.
async function page(number, model) {
  ask(number, model);
  await give(number, model);
  if (models.get(number) !== model) return;
  // What was handed over makes room for more.
  ask(number, model);
  const rest = model.rests - performance.now();
  if (rest > 0) {
    model.timer ??= setTimeout(() => {
      model.timer = undefined;
      if (models.get(number) === model) page(number, model);
    }, rest);
    return;
  }
  const news = model.news();
  if (!news) return;
  const [held, shown, pending] = news;
  const share = model.share();
  model.told = true;
  self.postMessage({ number, share, held, shown, pending });
  if (share === 1 && !model.whole) {
    model.whole = true;
    if (held) return self.postMessage({ number, end: { splats: held, skipped: 0 } });
    models.delete(number);
    const why = [...model.lost.values()].at(-1);
    model.free();
    sayLost();
    self.postMessage({ number, failed: why });
  }
}

function ask(number, model) {
  for (let chunk; model.fetching < AT_ONCE && (chunk = model.next_chunk()) !== undefined; ) fetchChunk(number, model, chunk);
}

// Brings a chunk: its description, then its images.
async function fetchChunk(number, model, chunk) {
  const wanted = () => models.get(number) === model;
  const get = (path) => {
    const url = new URL(path, model.base);
    url.search = model.base.search;
    return whole(url.href, wanted);
  };
  const path = model.path(chunk);
  model.fetching += 1;
  try {
    const text = await get(path);
    const paths = wanted() ? model.describe(chunk, text) : [];
    const files = await Promise.all(paths.map(get));
    if (!wanted()) return;
    model.come(chunk, files);
    if (model.lost.delete(chunk)) sayLost();
  } catch (error) {
    if (!wanted()) return;
    model.lose(chunk);
    const why = error === 0 ? "the server does not answer" : error > 0 ? `the server answers ${error}` : error;
    model.lost.set(chunk, `${decodeURIComponent(path)}: ${why}`);
    sayLost();
    // What is wrong with the files themselves stays so.
    const passes = error === 0 || error >= 500 || error === GAVE_UP;
    const times = (model.times.get(chunk) ?? 0) + 1;
    model.times.set(chunk, times);
    if (passes && times <= MORE) setTimeout(() => {
      if (!wanted()) return;
      model.forgive(chunk);
      page(number, model);
    }, LATER);
  }
  model.fetching -= 1;
  page(number, model);
}

// Names a chunk of any model that did not come and is not there, or none.
function sayLost() {
  const all = [...models.values()].flatMap(({ lost }) => [...(lost?.values() ?? [])]);
  self.postMessage({ lost: all.at(-1) ?? null });
}

self.onmessage = async ({ data }) => {
  const { kind, number } = data;
  try {
    await ready;
    if (kind === "read" || kind === "keep") {
      for (const [old, model] of models) {
        if (!data.kept.includes(old)) {
          models.delete(old);
          model.free?.();
          if (model.lost?.size) sayLost();
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
      const order = model?.sort ? model.sort(data.sight) : new Uint32Array();
      const ms = performance.now() - start;
      if (model?.told) {
        model.told = false;
        model.rests = start + (1 + REST) * ms;
      }
      self.postMessage({ number, id: data.id, order, ms }, [order.buffer]);
      // Its places are free for others once the page has the order without them.
      if (model?.base) page(number, model);
    }
  } catch (error) {
    self.postMessage({ number, broke: String(error) });
  }
};
