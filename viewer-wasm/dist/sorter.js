// The worker that orders splats by depth: a second instance of the module, with positions only.
import init, { Sorting } from "./kiln_viewer.js";

const ready = init({ module_or_path: new URL("kiln_viewer_bg.wasm", import.meta.url) });
const models = new Map();

self.onmessage = async ({ data }) => {
  const { kind, generation } = data;
  try {
    await ready;
    if (kind === "begin") {
      for (const [old, model] of models) {
        if (old < data.oldest) {
          model.free();
          models.delete(old);
        }
      }
      models.set(generation, new Sorting(data.count));
    } else if (kind === "add") {
      models.get(generation)?.add(data.positions);
    } else {
      const model = models.get(generation);
      const start = performance.now();
      const order = model ? model.sort(...data.row) : new Uint32Array();
      const ms = performance.now() - start;
      self.postMessage({ generation, id: data.id, order, ms }, [order.buffer]);
    }
  } catch (error) {
    self.postMessage({ generation, failed: String(error) });
  }
};
