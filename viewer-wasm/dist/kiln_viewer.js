export class Paging {
__destroy_into_raw() {
const ptr = this.__wbg_ptr;
this.__wbg_ptr = 0;
PagingFinalization.unregister(this);
return ptr;
}
free() {
const ptr = this.__destroy_into_raw();
wasm.__wbg_paging_free(ptr, 0);
}
come(chunk, files) {
const ret = wasm.paging_come(this.__wbg_ptr, chunk, files);
if (ret[1]) {
throw takeFromExternrefTable0(ret[0]);
}
}
describe(chunk, text) {
const val2 = +chunk;
const ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.paging_describe(this.__wbg_ptr, val2, ptr0, len0);
if (ret[3]) {
throw takeFromExternrefTable0(ret[2]);
}
var v3 = getArrayJsValueFromWasm0(ret[0], ret[1]);
wasm.__wbindgen_free(ret[0], ret[1] * 4, 4);
return v3;
}
forgive(chunk) {
wasm.paging_forgive(this.__wbg_ptr, chunk);
}
lose(chunk) {
wasm.paging_lose(this.__wbg_ptr, chunk);
}
constructor(text, budget) {
const val2 = +budget;
const ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.paging_new(ptr0, len0, val2);
if (ret[2]) {
throw takeFromExternrefTable0(ret[1]);
}
this.__wbg_ptr = ret[0];
PagingFinalization.register(this, this.__wbg_ptr, this);
return this;
}
news() {
const ret = wasm.paging_news(this.__wbg_ptr);
let v1;
if (ret[0] !== 0) {
v1 = getArrayU32FromWasm0(ret[0], ret[1]).slice();
wasm.__wbindgen_free(ret[0], ret[1] * 4, 4);
}
return v1;
}
next_chunk() {
const ret = wasm.paging_next_chunk(this.__wbg_ptr);
return ret === Number.MAX_SAFE_INTEGER ? undefined : ret;
}
path(chunk) {
let deferred1_0;
let deferred1_1;
try {
const ret = wasm.paging_path(this.__wbg_ptr, chunk);
deferred1_0 = ret[0];
deferred1_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
wasm.__wbindgen_free(deferred1_0, deferred1_1, 1);
}
}
share() {
const ret = wasm.paging_share(this.__wbg_ptr);
return ret;
}
sort(sight) {
const ptr0 = passArrayF32ToWasm0(sight, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.paging_sort(this.__wbg_ptr, ptr0, len0);
return ret;
}
take() {
const ret = wasm.paging_take(this.__wbg_ptr);
return ret;
}
}
if (Symbol.dispose) Paging.prototype[Symbol.dispose] = Paging.prototype.free;
export class Reading {
__destroy_into_raw() {
const ptr = this.__wbg_ptr;
this.__wbg_ptr = 0;
ReadingFinalization.unregister(this);
return ptr;
}
free() {
const ptr = this.__destroy_into_raw();
wasm.__wbg_reading_free(ptr, 0);
}
finish() {
const ret = wasm.reading_finish(this.__wbg_ptr);
if (ret[2]) {
throw takeFromExternrefTable0(ret[1]);
}
return takeFromExternrefTable0(ret[0]);
}
constructor(name) {
const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.reading_new(ptr0, len0);
this.__wbg_ptr = ret;
ReadingFinalization.register(this, this.__wbg_ptr, this);
return this;
}
push(bytes) {
const ptr0 = passArray8ToWasm0(bytes, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.reading_push(this.__wbg_ptr, ptr0, len0);
if (ret[1]) {
throw takeFromExternrefTable0(ret[0]);
}
}
sort(sight) {
const ptr0 = passArrayF32ToWasm0(sight, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.reading_sort(this.__wbg_ptr, ptr0, len0);
return ret;
}
take() {
const ret = wasm.reading_take(this.__wbg_ptr);
return ret;
}
}
if (Symbol.dispose) Reading.prototype[Symbol.dispose] = Reading.prototype.free;
export function picture(name) {
const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len0 = WASM_VECTOR_LEN;
const ret = wasm.picture(ptr0, len0);
return ret;
}
export function sort_bench(count) {
const ret = wasm.sort_bench(count);
return ret;
}
export function start(token, stored) {
const val2 = +stored;
var ptr0 = isLikeNone(token) ? 0 : passStringToWasm0(token, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len0 = WASM_VECTOR_LEN;
wasm.start(ptr0, len0, val2);
}
export function status() {
let deferred1_0;
let deferred1_1;
try {
const ret = wasm.status();
deferred1_0 = ret[0];
deferred1_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
wasm.__wbindgen_free(deferred1_0, deferred1_1, 1);
}
}
function __wbg_get_imports() {
const import0 = {
__proto__: null,
__wbg___wbindgen_boolean_get_0000000000000000: function(arg0) {
const v = arg0;
const ret = typeof(v) === 'boolean' ? v : undefined;
return isLikeNone(ret) ? 0xFFFFFF : ret ? 1 : 0;
},
__wbg___wbindgen_is_falsy_0000000000000267: function(arg0) {
const ret = !arg0;
return ret;
},
__wbg___wbindgen_is_function_0000000000000268: function(arg0) {
const ret = typeof(arg0) === 'function';
return ret;
},
__wbg___wbindgen_is_object_0000000000000269: function(arg0) {
const val = arg0;
const ret = typeof(val) === 'object' && val !== null;
return ret;
},
__wbg___wbindgen_is_undefined_0000000000000270: function(arg0) {
const ret = arg0 === undefined;
return ret;
},
__wbg___wbindgen_number_get_0000000000000271: function(arg0, arg1) {
const obj = arg1;
const ret = typeof(obj) === 'number' ? obj : undefined;
getDataViewMemory0().setFloat64((arg0 >>> 0) + 8 * 1, isLikeNone(ret) ? 0 : ret, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, !isLikeNone(ret), true);
},
__wbg___wbindgen_string_get_0000000000000006: function(arg0, arg1) {
const obj = arg1;
const ret = typeof(obj) === 'string' ? obj : undefined;
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg___wbindgen_throw_0000000000000007: function(arg0, arg1) {
throw new Error(getStringFromWasm0(arg0, arg1));
},
__wbg__wbg_cb_unref_0000000000000008: function(arg0) {
arg0._wbg_cb_unref();
},
__wbg_activeElement_0000000000000009: function(arg0) {
const ret = arg0.activeElement;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_activeTexture_0000000000000010: function(arg0, arg1) {
arg0.activeTexture(arg1 >>> 0);
},
__wbg_addEventListener_0000000000000011: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
arg0.addEventListener(getStringFromWasm0(arg1, arg2), arg3, arg4);
}, arguments); },
__wbg_altKey_0000000000000012: function(arg0) {
const ret = arg0.altKey;
return ret;
},
__wbg_arrayBuffer_0000000000000013: function() { return handleError(function (arg0) {
const ret = arg0.arrayBuffer();
return ret;
}, arguments); },
__wbg_attachShader_0000000000000014: function(arg0, arg1, arg2) {
arg0.attachShader(arg1, arg2);
},
__wbg_bindBuffer_0000000000000015: function(arg0, arg1, arg2) {
arg0.bindBuffer(arg1 >>> 0, arg2);
},
__wbg_bindFramebuffer_0000000000000016: function(arg0, arg1, arg2) {
arg0.bindFramebuffer(arg1 >>> 0, arg2);
},
__wbg_bindTexture_0000000000000017: function(arg0, arg1, arg2) {
arg0.bindTexture(arg1 >>> 0, arg2);
},
__wbg_bindVertexArray_0000000000000018: function(arg0, arg1) {
arg0.bindVertexArray(arg1);
},
__wbg_blendFuncSeparate_0000000000000019: function(arg0, arg1, arg2, arg3, arg4) {
arg0.blendFuncSeparate(arg1 >>> 0, arg2 >>> 0, arg3 >>> 0, arg4 >>> 0);
},
__wbg_blendFunc_0000000000000020: function(arg0, arg1, arg2) {
arg0.blendFunc(arg1 >>> 0, arg2 >>> 0);
},
__wbg_bufferData_0000000000000021: function(arg0, arg1, arg2, arg3) {
arg0.bufferData(arg1 >>> 0, arg2, arg3 >>> 0);
},
__wbg_button_0000000000000022: function(arg0) {
const ret = arg0.button;
return ret;
},
__wbg_call_0000000000000023: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.call(arg1, arg2);
return ret;
}, arguments); },
__wbg_checkFramebufferStatus_0000000000000024: function(arg0, arg1) {
const ret = arg0.checkFramebufferStatus(arg1 >>> 0);
return ret;
},
__wbg_checked_0000000000000025: function(arg0) {
const ret = arg0.checked;
return ret;
},
__wbg_classList_0000000000000026: function(arg0) {
const ret = arg0.classList;
return ret;
},
__wbg_clearColor_0000000000000027: function(arg0, arg1, arg2, arg3, arg4) {
arg0.clearColor(arg1, arg2, arg3, arg4);
},
__wbg_clear_0000000000000028: function(arg0, arg1) {
arg0.clear(arg1 >>> 0);
},
__wbg_click_0000000000000029: function(arg0) {
arg0.click();
},
__wbg_clientHeight_0000000000000030: function(arg0) {
const ret = arg0.clientHeight;
return ret;
},
__wbg_clientWidth_0000000000000031: function(arg0) {
const ret = arg0.clientWidth;
return ret;
},
__wbg_clientX_0000000000000032: function(arg0) {
const ret = arg0.clientX;
return ret;
},
__wbg_clientY_0000000000000033: function(arg0) {
const ret = arg0.clientY;
return ret;
},
__wbg_clipboard_0000000000000034: function(arg0) {
const ret = arg0.clipboard;
return ret;
},
__wbg_close_0000000000000035: function(arg0) {
arg0.close();
},
__wbg_closest_0000000000000036: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.closest(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_colorMask_0000000000000037: function(arg0, arg1, arg2, arg3, arg4) {
arg0.colorMask(arg1 !== 0, arg2 !== 0, arg3 !== 0, arg4 !== 0);
},
__wbg_compileShader_0000000000000038: function(arg0, arg1) {
arg0.compileShader(arg1);
},
__wbg_contains_0000000000000039: function(arg0, arg1) {
const ret = arg0.contains(arg1);
return ret;
},
__wbg_cos_0000000000000040: function(arg0) {
const ret = Math.cos(arg0);
return ret;
},
__wbg_createBuffer_0000000000000041: function(arg0) {
const ret = arg0.createBuffer();
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_createElement_0000000000000042: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.createElement(getStringFromWasm0(arg1, arg2));
return ret;
}, arguments); },
__wbg_createFramebuffer_0000000000000043: function(arg0) {
const ret = arg0.createFramebuffer();
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_createObjectURL_0000000000000044: function() { return handleError(function (arg0, arg1) {
const ret = URL.createObjectURL(arg1);
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_createProgram_0000000000000045: function(arg0) {
const ret = arg0.createProgram();
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_createShader_0000000000000046: function(arg0, arg1) {
const ret = arg0.createShader(arg1 >>> 0);
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_createTexture_0000000000000047: function(arg0) {
const ret = arg0.createTexture();
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_createVertexArray_0000000000000048: function(arg0) {
const ret = arg0.createVertexArray();
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_ctrlKey_0000000000000049: function(arg0) {
const ret = arg0.ctrlKey;
return ret;
},
__wbg_dataTransfer_0000000000000050: function(arg0) {
const ret = arg0.dataTransfer;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_data_0000000000000051: function(arg0, arg1) {
const ret = arg1.data;
const ptr1 = passArray8ToWasm0(ret, wasm.__wbindgen_malloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_data_0000000000000052: function(arg0) {
const ret = arg0.data;
return ret;
},
__wbg_decode_0000000000000053: function(arg0) {
const ret = arg0.decode();
return ret;
},
__wbg_deleteBuffer_0000000000000054: function(arg0, arg1) {
arg0.deleteBuffer(arg1);
},
__wbg_deleteFramebuffer_0000000000000055: function(arg0, arg1) {
arg0.deleteFramebuffer(arg1);
},
__wbg_deleteShader_0000000000000056: function(arg0, arg1) {
arg0.deleteShader(arg1);
},
__wbg_deleteTexture_0000000000000057: function(arg0, arg1) {
arg0.deleteTexture(arg1);
},
__wbg_deleteVertexArray_0000000000000058: function(arg0, arg1) {
arg0.deleteVertexArray(arg1);
},
__wbg_deltaMode_0000000000000059: function(arg0) {
const ret = arg0.deltaMode;
return ret;
},
__wbg_deltaY_0000000000000060: function(arg0) {
const ret = arg0.deltaY;
return ret;
},
__wbg_depthFunc_0000000000000061: function(arg0, arg1) {
arg0.depthFunc(arg1 >>> 0);
},
__wbg_devicePixelRatio_0000000000000062: function(arg0) {
const ret = arg0.devicePixelRatio;
return ret;
},
__wbg_disable_0000000000000063: function(arg0, arg1) {
arg0.disable(arg1 >>> 0);
},
__wbg_documentElement_0000000000000064: function(arg0) {
const ret = arg0.documentElement;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_document_0000000000000065: function(arg0) {
const ret = arg0.document;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_drawArrays_0000000000000066: function(arg0, arg1, arg2, arg3) {
arg0.drawArrays(arg1 >>> 0, arg2, arg3);
},
__wbg_drawBuffers_0000000000000067: function(arg0, arg1) {
arg0.drawBuffers(arg1);
},
__wbg_drawElementsInstanced_0000000000000068: function(arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.drawElementsInstanced(arg1 >>> 0, arg2, arg3 >>> 0, arg4, arg5);
},
__wbg_drawImage_0000000000000069: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.drawImage(arg1, arg2, arg3, arg4, arg5);
}, arguments); },
__wbg_drawImage_0000000000000070: function() { return handleError(function (arg0, arg1, arg2, arg3) {
arg0.drawImage(arg1, arg2, arg3);
}, arguments); },
__wbg_enableVertexAttribArray_0000000000000071: function(arg0, arg1) {
arg0.enableVertexAttribArray(arg1 >>> 0);
},
__wbg_enable_0000000000000072: function(arg0, arg1) {
arg0.enable(arg1 >>> 0);
},
__wbg_exp_0000000000000073: function(arg0) {
const ret = Math.exp(arg0);
return ret;
},
__wbg_fetch_0000000000000074: function(arg0, arg1, arg2, arg3) {
const ret = arg0.fetch(getStringFromWasm0(arg1, arg2), arg3);
return ret;
},
__wbg_files_0000000000000075: function(arg0) {
const ret = arg0.files;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_files_0000000000000076: function(arg0) {
const ret = arg0.files;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_focus_0000000000000077: function() { return handleError(function (arg0) {
arg0.focus();
}, arguments); },
__wbg_framebufferTexture2D_0000000000000078: function(arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.framebufferTexture2D(arg1 >>> 0, arg2 >>> 0, arg3 >>> 0, arg4, arg5);
},
__wbg_framebufferTextureLayer_0000000000000079: function(arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.framebufferTextureLayer(arg1 >>> 0, arg2 >>> 0, arg3, arg4, arg5);
},
__wbg_generateMipmap_0000000000000080: function(arg0, arg1) {
arg0.generateMipmap(arg1 >>> 0);
},
__wbg_getActiveUniform_0000000000000081: function(arg0, arg1, arg2) {
const ret = arg0.getActiveUniform(arg1, arg2 >>> 0);
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_getAttribute_0000000000000082: function(arg0, arg1, arg2, arg3) {
const ret = arg1.getAttribute(getStringFromWasm0(arg2, arg3));
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_getBoundingClientRect_0000000000000083: function(arg0) {
const ret = arg0.getBoundingClientRect();
return ret;
},
__wbg_getContext_0000000000000084: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.getContext(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_getElementById_0000000000000085: function(arg0, arg1, arg2) {
const ret = arg0.getElementById(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_getError_0000000000000086: function(arg0) {
const ret = arg0.getError();
return ret;
},
__wbg_getExtension_0000000000000087: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.getExtension(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_getImageData_0000000000000088: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
const ret = arg0.getImageData(arg1, arg2, arg3, arg4);
return ret;
}, arguments); },
__wbg_getItem_0000000000000089: function() { return handleError(function (arg0, arg1, arg2, arg3) {
const ret = arg1.getItem(getStringFromWasm0(arg2, arg3));
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_getProgramInfoLog_0000000000000090: function(arg0, arg1, arg2) {
const ret = arg1.getProgramInfoLog(arg2);
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_getProgramParameter_0000000000000091: function(arg0, arg1, arg2) {
const ret = arg0.getProgramParameter(arg1, arg2 >>> 0);
return ret;
},
__wbg_getShaderInfoLog_0000000000000092: function(arg0, arg1, arg2) {
const ret = arg1.getShaderInfoLog(arg2);
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_getShaderParameter_0000000000000093: function(arg0, arg1, arg2) {
const ret = arg0.getShaderParameter(arg1, arg2 >>> 0);
return ret;
},
__wbg_getUniformLocation_0000000000000094: function(arg0, arg1, arg2, arg3) {
const ret = arg0.getUniformLocation(arg1, getStringFromWasm0(arg2, arg3));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_get_0000000000000095: function() { return handleError(function (arg0, arg1) {
const ret = Reflect.get(arg0, arg1);
return ret;
}, arguments); },
__wbg_get_0000000000000096: function() { return handleError(function (arg0, arg1, arg2, arg3) {
const ret = arg1.get(getStringFromWasm0(arg2, arg3));
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_get_0000000000000097: function(arg0, arg1) {
const ret = arg0[arg1 >>> 0];
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_get_0000000000000098: function(arg0, arg1) {
const ret = arg0[arg1 >>> 0];
return ret;
},
__wbg_get_index_0000000000000099: function(arg0, arg1) {
const ret = arg0[arg1 >>> 0];
return ret;
},
__wbg_get_unchecked_0000000000000100: function(arg0, arg1) {
const ret = arg0[arg1 >>> 0];
return ret;
},
__wbg_hasAttribute_0000000000000101: function(arg0, arg1, arg2) {
const ret = arg0.hasAttribute(getStringFromWasm0(arg1, arg2));
return ret;
},
__wbg_headers_0000000000000102: function(arg0) {
const ret = arg0.headers;
return ret;
},
__wbg_height_0000000000000103: function(arg0) {
const ret = arg0.height;
return ret;
},
__wbg_history_0000000000000104: function() { return handleError(function (arg0) {
const ret = arg0.history;
return ret;
}, arguments); },
__wbg_innerHTML_0000000000000105: function(arg0, arg1) {
const ret = arg1.innerHTML;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_instanceof_CanvasRenderingContext2d_0000000000000106: function(arg0) {
let result;
try {
result = arg0 instanceof CanvasRenderingContext2D;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_DragEvent_0000000000000107: function(arg0) {
let result;
try {
result = arg0 instanceof DragEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Element_0000000000000108: function(arg0) {
let result;
try {
result = arg0 instanceof Element;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Event_0000000000000109: function(arg0) {
let result;
try {
result = arg0 instanceof Event;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Float32Array_0000000000000110: function(arg0) {
let result;
try {
result = arg0 instanceof Float32Array;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlAnchorElement_0000000000000111: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLAnchorElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlCanvasElement_0000000000000112: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLCanvasElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlDialogElement_0000000000000113: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLDialogElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlElement_0000000000000114: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlImageElement_0000000000000115: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLImageElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlInputElement_0000000000000116: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLInputElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_HtmlSelectElement_0000000000000117: function(arg0) {
let result;
try {
result = arg0 instanceof HTMLSelectElement;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_KeyboardEvent_0000000000000118: function(arg0) {
let result;
try {
result = arg0 instanceof KeyboardEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_MessageEvent_0000000000000119: function(arg0) {
let result;
try {
result = arg0 instanceof MessageEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_MouseEvent_0000000000000120: function(arg0) {
let result;
try {
result = arg0 instanceof MouseEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_PointerEvent_0000000000000121: function(arg0) {
let result;
try {
result = arg0 instanceof PointerEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Response_0000000000000122: function(arg0) {
let result;
try {
result = arg0 instanceof Response;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Uint32Array_0000000000000123: function(arg0) {
let result;
try {
result = arg0 instanceof Uint32Array;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Uint8Array_0000000000000124: function(arg0) {
let result;
try {
result = arg0 instanceof Uint8Array;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_WebGl2RenderingContext_0000000000000125: function(arg0) {
let result;
try {
result = arg0 instanceof WebGL2RenderingContext;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_WheelEvent_0000000000000126: function(arg0) {
let result;
try {
result = arg0 instanceof WheelEvent;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_instanceof_Window_0000000000000127: function(arg0) {
let result;
try {
result = arg0 instanceof Window;
} catch (_) {
result = false;
}
const ret = result;
return ret;
},
__wbg_isArray_0000000000000128: function(arg0) {
const ret = Array.isArray(arg0);
return ret;
},
__wbg_isContextLost_0000000000000129: function(arg0) {
const ret = arg0.isContextLost();
return ret;
},
__wbg_item_0000000000000130: function(arg0, arg1) {
const ret = arg0.item(arg1 >>> 0);
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_key_0000000000000131: function(arg0, arg1) {
const ret = arg1.key;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_left_0000000000000132: function(arg0) {
const ret = arg0.left;
return ret;
},
__wbg_length_0000000000000133: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_length_0000000000000134: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_length_0000000000000135: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_length_0000000000000136: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_length_0000000000000137: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_length_0000000000000138: function(arg0) {
const ret = arg0.length;
return ret;
},
__wbg_linkProgram_0000000000000139: function(arg0, arg1) {
arg0.linkProgram(arg1);
},
__wbg_localStorage_0000000000000140: function() { return handleError(function (arg0) {
const ret = arg0.localStorage;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_location_0000000000000141: function(arg0) {
const ret = arg0.location;
return ret;
},
__wbg_log10_0000000000000142: function(arg0) {
const ret = Math.log10(arg0);
return ret;
},
__wbg_log2_0000000000000143: function(arg0) {
const ret = Math.log2(arg0);
return ret;
},
__wbg_log_0000000000000144: function(arg0) {
const ret = Math.log(arg0);
return ret;
},
__wbg_matchMedia_0000000000000145: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.matchMedia(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_matches_0000000000000146: function(arg0) {
const ret = arg0.matches;
return ret;
},
__wbg_matches_0000000000000147: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.matches(getStringFromWasm0(arg1, arg2));
return ret;
}, arguments); },
__wbg_metaKey_0000000000000148: function(arg0) {
const ret = arg0.metaKey;
return ret;
},
__wbg_name_0000000000000149: function(arg0, arg1) {
const ret = arg1.name;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_name_0000000000000150: function(arg0, arg1) {
const ret = arg1.name;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_naturalHeight_0000000000000151: function(arg0) {
const ret = arg0.naturalHeight;
return ret;
},
__wbg_naturalWidth_0000000000000152: function(arg0) {
const ret = arg0.naturalWidth;
return ret;
},
__wbg_navigator_0000000000000153: function(arg0) {
const ret = arg0.navigator;
return ret;
},
__wbg_new_0000000000000154: function(arg0) {
const ret = new Uint8Array(arg0);
return ret;
},
__wbg_new_0000000000000155: function() { return handleError(function () {
const ret = new Headers();
return ret;
}, arguments); },
__wbg_new_0000000000000156: function() {
const ret = new Array();
return ret;
},
__wbg_new_0000000000000157: function(arg0) {
const ret = new Uint32Array(arg0);
return ret;
},
__wbg_new_0000000000000158: function(arg0, arg1) {
try {
var state0 = {a: arg0, b: arg1};
var cb0 = (arg0, arg1) => {
const a = state0.a;
state0.a = 0;
try {
return wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined_______true_(a, state0.b, arg0, arg1);
} finally {
state0.a = a;
}
};
const ret = new Promise(cb0);
return ret;
} finally {
state0.a = 0;
}
},
__wbg_new_0000000000000159: function() {
const ret = new Object();
return ret;
},
__wbg_new_from_slice_0000000000000160: function(arg0, arg1) {
const ret = new Uint16Array(getArrayU16FromWasm0(arg0, arg1));
return ret;
},
__wbg_new_from_slice_0000000000000161: function(arg0, arg1) {
const ret = new Uint32Array(getArrayU32FromWasm0(arg0, arg1));
return ret;
},
__wbg_new_from_slice_0000000000000162: function(arg0, arg1) {
const ret = new Float32Array(getArrayF32FromWasm0(arg0, arg1));
return ret;
},
__wbg_new_from_slice_0000000000000163: function(arg0, arg1) {
const ret = new Uint8Array(getArrayU8FromWasm0(arg0, arg1));
return ret;
},
__wbg_new_with_length_0000000000000164: function(arg0) {
const ret = new Uint8Array(arg0 >>> 0);
return ret;
},
__wbg_new_with_length_0000000000000165: function(arg0) {
const ret = new Float32Array(arg0 >>> 0);
return ret;
},
__wbg_new_with_options_0000000000000166: function() { return handleError(function (arg0, arg1, arg2) {
const ret = new Worker(getStringFromWasm0(arg0, arg1), arg2);
return ret;
}, arguments); },
__wbg_new_with_u8_array_sequence_0000000000000167: function() { return handleError(function (arg0) {
const ret = new Blob(arg0);
return ret;
}, arguments); },
__wbg_new_with_u8_clamped_array_and_sh_0000000000000168: function() { return handleError(function (arg0, arg1, arg2, arg3) {
const ret = new ImageData(getClampedArrayU8FromWasm0(arg0, arg1), arg2 >>> 0, arg3 >>> 0);
return ret;
}, arguments); },
__wbg_now_0000000000000169: function(arg0) {
const ret = arg0.now();
return ret;
},
__wbg_of_0000000000000170: function(arg0) {
const ret = Array.of(arg0);
return ret;
},
__wbg_offsetX_0000000000000171: function(arg0) {
const ret = arg0.offsetX;
return ret;
},
__wbg_offsetY_0000000000000172: function(arg0) {
const ret = arg0.offsetY;
return ret;
},
__wbg_open_0000000000000173: function(arg0) {
const ret = arg0.open;
return ret;
},
__wbg_origin_0000000000000174: function() { return handleError(function (arg0, arg1) {
const ret = arg1.origin;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_pathname_0000000000000175: function() { return handleError(function (arg0, arg1) {
const ret = arg1.pathname;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_performance_0000000000000176: function(arg0) {
const ret = arg0.performance;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_pointerId_0000000000000177: function(arg0) {
const ret = arg0.pointerId;
return ret;
},
__wbg_postMessage_0000000000000178: function() { return handleError(function (arg0, arg1) {
arg0.postMessage(arg1);
}, arguments); },
__wbg_pow_0000000000000179: function(arg0, arg1) {
const ret = Math.pow(arg0, arg1);
return ret;
},
__wbg_preventDefault_0000000000000180: function(arg0) {
arg0.preventDefault();
},
__wbg_prototypesetcall_0000000000000181: function(arg0, arg1, arg2) {
Uint8Array.prototype.set.call(getArrayU8FromWasm0(arg0, arg1), arg2);
},
__wbg_prototypesetcall_0000000000000182: function(arg0, arg1, arg2) {
Float32Array.prototype.set.call(getArrayF32FromWasm0(arg0, arg1), arg2);
},
__wbg_pushState_0000000000000183: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.pushState(arg1, getStringFromWasm0(arg2, arg3), arg4 === 0 ? undefined : getStringFromWasm0(arg4, arg5));
}, arguments); },
__wbg_push_0000000000000184: function(arg0, arg1) {
const ret = arg0.push(arg1);
return ret;
},
__wbg_putImageData_0000000000000185: function() { return handleError(function (arg0, arg1, arg2, arg3) {
arg0.putImageData(arg1, arg2, arg3);
}, arguments); },
__wbg_querySelectorAll_0000000000000186: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.querySelectorAll(getStringFromWasm0(arg1, arg2));
return ret;
}, arguments); },
__wbg_querySelector_0000000000000187: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.querySelector(getStringFromWasm0(arg1, arg2));
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
}, arguments); },
__wbg_queueMicrotask_0000000000000188: function(arg0) {
const ret = arg0.queueMicrotask;
return ret;
},
__wbg_queueMicrotask_0000000000000189: function(arg0) {
queueMicrotask(arg0);
},
__wbg_readPixels_0000000000000190: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7) {
arg0.readPixels(arg1, arg2, arg3, arg4, arg5 >>> 0, arg6 >>> 0, arg7);
}, arguments); },
__wbg_reload_0000000000000191: function() { return handleError(function (arg0) {
arg0.reload();
}, arguments); },
__wbg_replaceState_0000000000000192: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.replaceState(arg1, getStringFromWasm0(arg2, arg3), arg4 === 0 ? undefined : getStringFromWasm0(arg4, arg5));
}, arguments); },
__wbg_requestAnimationFrame_0000000000000193: function() { return handleError(function (arg0, arg1) {
const ret = arg0.requestAnimationFrame(arg1);
return ret;
}, arguments); },
__wbg_resolve_0000000000000194: function(arg0) {
const ret = Promise.resolve(arg0);
return ret;
},
__wbg_revokeObjectURL_0000000000000195: function() { return handleError(function (arg0, arg1) {
URL.revokeObjectURL(getStringFromWasm0(arg0, arg1));
}, arguments); },
__wbg_scissor_0000000000000196: function(arg0, arg1, arg2, arg3, arg4) {
arg0.scissor(arg1, arg2, arg3, arg4);
},
__wbg_search_0000000000000197: function() { return handleError(function (arg0, arg1) {
const ret = arg1.search;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_setAttribute_0000000000000198: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
arg0.setAttribute(getStringFromWasm0(arg1, arg2), getStringFromWasm0(arg3, arg4));
}, arguments); },
__wbg_setItem_0000000000000199: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
arg0.setItem(getStringFromWasm0(arg1, arg2), getStringFromWasm0(arg3, arg4));
}, arguments); },
__wbg_setPointerCapture_0000000000000200: function() { return handleError(function (arg0, arg1) {
arg0.setPointerCapture(arg1);
}, arguments); },
__wbg_setProperty_0000000000000201: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
arg0.setProperty(getStringFromWasm0(arg1, arg2), getStringFromWasm0(arg3, arg4));
}, arguments); },
__wbg_setTimeout_0000000000000202: function() { return handleError(function (arg0, arg1, arg2) {
const ret = arg0.setTimeout(arg1, arg2);
return ret;
}, arguments); },
__wbg_set_0000000000000203: function() { return handleError(function (arg0, arg1, arg2) {
const ret = Reflect.set(arg0, arg1, arg2);
return ret;
}, arguments); },
__wbg_set_0000000000000204: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4) {
arg0.set(getStringFromWasm0(arg1, arg2), getStringFromWasm0(arg3, arg4));
}, arguments); },
__wbg_set_cache_0000000000000205: function(arg0, arg1) {
arg0.cache = __wbindgen_enum_RequestCache[arg1];
},
__wbg_set_checked_0000000000000206: function(arg0, arg1) {
arg0.checked = arg1 !== 0;
},
__wbg_set_disabled_0000000000000207: function(arg0, arg1) {
arg0.disabled = arg1 !== 0;
},
__wbg_set_download_0000000000000208: function(arg0, arg1, arg2) {
arg0.download = getStringFromWasm0(arg1, arg2);
},
__wbg_set_headers_0000000000000209: function(arg0, arg1) {
arg0.headers = arg1;
},
__wbg_set_height_0000000000000210: function(arg0, arg1) {
arg0.height = arg1 >>> 0;
},
__wbg_set_href_0000000000000211: function(arg0, arg1, arg2) {
arg0.href = getStringFromWasm0(arg1, arg2);
},
__wbg_set_innerHTML_0000000000000212: function(arg0, arg1, arg2) {
arg0.innerHTML = getStringFromWasm0(arg1, arg2);
},
__wbg_set_max_0000000000000213: function(arg0, arg1, arg2) {
arg0.max = getStringFromWasm0(arg1, arg2);
},
__wbg_set_method_0000000000000214: function(arg0, arg1, arg2) {
arg0.method = getStringFromWasm0(arg1, arg2);
},
__wbg_set_passive_0000000000000215: function(arg0, arg1) {
arg0.passive = arg1 !== 0;
},
__wbg_set_src_0000000000000216: function(arg0, arg1, arg2) {
arg0.src = getStringFromWasm0(arg1, arg2);
},
__wbg_set_textContent_0000000000000217: function(arg0, arg1, arg2) {
arg0.textContent = arg1 === 0 ? undefined : getStringFromWasm0(arg1, arg2);
},
__wbg_set_title_0000000000000218: function(arg0, arg1, arg2) {
arg0.title = getStringFromWasm0(arg1, arg2);
},
__wbg_set_type_0000000000000219: function(arg0, arg1) {
arg0.type = __wbindgen_enum_WorkerType[arg1];
},
__wbg_set_value_0000000000000220: function(arg0, arg1, arg2) {
arg0.value = getStringFromWasm0(arg1, arg2);
},
__wbg_set_value_0000000000000221: function(arg0, arg1, arg2) {
arg0.value = getStringFromWasm0(arg1, arg2);
},
__wbg_set_width_0000000000000222: function(arg0, arg1) {
arg0.width = arg1 >>> 0;
},
__wbg_shaderSource_0000000000000223: function(arg0, arg1, arg2, arg3) {
arg0.shaderSource(arg1, getStringFromWasm0(arg2, arg3));
},
__wbg_shiftKey_0000000000000224: function(arg0) {
const ret = arg0.shiftKey;
return ret;
},
__wbg_showModal_0000000000000225: function() { return handleError(function (arg0) {
arg0.showModal();
}, arguments); },
__wbg_sin_0000000000000226: function(arg0) {
const ret = Math.sin(arg0);
return ret;
},
__wbg_size_0000000000000227: function(arg0) {
const ret = arg0.size;
return ret;
},
__wbg_static_accessor_GLOBAL_THIS_0000000000000228: function() {
const ret = typeof globalThis === 'undefined' ? undefined : globalThis;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_static_accessor_GLOBAL_0000000000000229: function() {
const ret = typeof global === 'undefined' ? undefined : global;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_static_accessor_SELF_0000000000000230: function() {
const ret = typeof self === 'undefined' ? undefined : self;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_static_accessor_WINDOW_0000000000000231: function() {
const ret = typeof window === 'undefined' ? undefined : window;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_status_0000000000000232: function(arg0) {
const ret = arg0.status;
return ret;
},
__wbg_style_0000000000000233: function(arg0) {
const ret = arg0.style;
return ret;
},
__wbg_subarray_0000000000000234: function(arg0, arg1, arg2) {
const ret = arg0.subarray(arg1 >>> 0, arg2 >>> 0);
return ret;
},
__wbg_tagName_0000000000000235: function(arg0, arg1) {
const ret = arg1.tagName;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_target_0000000000000236: function(arg0) {
const ret = arg0.target;
return isLikeNone(ret) ? 0 : addToExternrefTable0(ret);
},
__wbg_texImage2D_0000000000000237: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5, arg6) {
arg0.texImage2D(arg1 >>> 0, arg2, arg3, arg4 >>> 0, arg5 >>> 0, arg6);
}, arguments); },
__wbg_texParameteri_0000000000000238: function(arg0, arg1, arg2, arg3) {
arg0.texParameteri(arg1 >>> 0, arg2 >>> 0, arg3);
},
__wbg_texStorage2D_0000000000000239: function(arg0, arg1, arg2, arg3, arg4, arg5) {
arg0.texStorage2D(arg1 >>> 0, arg2, arg3 >>> 0, arg4, arg5);
},
__wbg_texStorage3D_0000000000000240: function(arg0, arg1, arg2, arg3, arg4, arg5, arg6) {
arg0.texStorage3D(arg1 >>> 0, arg2, arg3 >>> 0, arg4, arg5, arg6);
},
__wbg_texSubImage2D_0000000000000241: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9) {
arg0.texSubImage2D(arg1 >>> 0, arg2, arg3, arg4, arg5, arg6, arg7 >>> 0, arg8 >>> 0, arg9);
}, arguments); },
__wbg_texSubImage3D_0000000000000242: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11) {
arg0.texSubImage3D(arg1 >>> 0, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9 >>> 0, arg10 >>> 0, arg11);
}, arguments); },
__wbg_texSubImage3D_0000000000000243: function() { return handleError(function (arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11) {
arg0.texSubImage3D(arg1 >>> 0, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9 >>> 0, arg10 >>> 0, arg11);
}, arguments); },
__wbg_textContent_0000000000000244: function(arg0, arg1) {
const ret = arg1.textContent;
var ptr1 = isLikeNone(ret) ? 0 : passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
var len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_text_0000000000000245: function(arg0) {
const ret = arg0.text();
return ret;
},
__wbg_then_0000000000000246: function(arg0, arg1, arg2) {
const ret = arg0.then(arg1, arg2);
return ret;
},
__wbg_then_0000000000000247: function(arg0, arg1) {
const ret = arg0.then(arg1);
return ret;
},
__wbg_toDataURL_0000000000000248: function() { return handleError(function (arg0, arg1) {
const ret = arg1.toDataURL();
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
}, arguments); },
__wbg_toggleAttribute_0000000000000249: function() { return handleError(function (arg0, arg1, arg2, arg3) {
const ret = arg0.toggleAttribute(getStringFromWasm0(arg1, arg2), arg3 !== 0);
return ret;
}, arguments); },
__wbg_toggle_0000000000000250: function() { return handleError(function (arg0, arg1, arg2, arg3) {
const ret = arg0.toggle(getStringFromWasm0(arg1, arg2), arg3 !== 0);
return ret;
}, arguments); },
__wbg_top_0000000000000251: function(arg0) {
const ret = arg0.top;
return ret;
},
__wbg_type_0000000000000252: function(arg0, arg1) {
const ret = arg1.type;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_type_0000000000000253: function(arg0, arg1) {
const ret = arg1.type;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_uniform1f_0000000000000254: function(arg0, arg1, arg2) {
arg0.uniform1f(arg1, arg2);
},
__wbg_uniform1i_0000000000000255: function(arg0, arg1, arg2) {
arg0.uniform1i(arg1, arg2);
},
__wbg_uniform2f_0000000000000256: function(arg0, arg1, arg2, arg3) {
arg0.uniform2f(arg1, arg2, arg3);
},
__wbg_uniform2fv_0000000000000257: function(arg0, arg1, arg2, arg3) {
arg0.uniform2fv(arg1, getArrayF32FromWasm0(arg2, arg3));
},
__wbg_uniform3fv_0000000000000258: function(arg0, arg1, arg2, arg3) {
arg0.uniform3fv(arg1, getArrayF32FromWasm0(arg2, arg3));
},
__wbg_uniformMatrix3fv_0000000000000259: function(arg0, arg1, arg2, arg3, arg4) {
arg0.uniformMatrix3fv(arg1, arg2 !== 0, getArrayF32FromWasm0(arg3, arg4));
},
__wbg_useProgram_0000000000000260: function(arg0, arg1) {
arg0.useProgram(arg1);
},
__wbg_value_0000000000000261: function(arg0, arg1) {
const ret = arg1.value;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_value_0000000000000262: function(arg0, arg1) {
const ret = arg1.value;
const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
const len1 = WASM_VECTOR_LEN;
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
},
__wbg_vertexAttribPointer_0000000000000263: function(arg0, arg1, arg2, arg3, arg4, arg5, arg6) {
arg0.vertexAttribPointer(arg1 >>> 0, arg2, arg3 >>> 0, arg4 !== 0, arg5, arg6);
},
__wbg_viewport_0000000000000264: function(arg0, arg1, arg2, arg3, arg4) {
arg0.viewport(arg1, arg2, arg3, arg4);
},
__wbg_width_0000000000000265: function(arg0) {
const ret = arg0.width;
return ret;
},
__wbg_writeText_0000000000000266: function(arg0, arg1, arg2) {
const ret = arg0.writeText(getStringFromWasm0(arg1, arg2));
return ret;
},
__wbindgen_generic_0000000000000267: function(arg0, arg1) {
const ret = makeMutClosure(arg0, arg1, wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___wasm_bindgen_e339f1fdbde1a20e___JsValue__core_fafa5420d26920c8___result__Result_____wasm_bindgen_e339f1fdbde1a20e___JsError___true_);
return ret;
},
__wbindgen_generic_0000000000000268: function(arg0, arg1) {
const ret = makeMutClosure(arg0, arg1, wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___f64______true_);
return ret;
},
__wbindgen_generic_0000000000000269: function(arg0, arg1) {
const ret = makeMutClosure(arg0, arg1, wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___web_sys_461447dc9a373eb8___features__gen_Event__Event______true_);
return ret;
},
__wbindgen_generic_0000000000000270: function(arg0) {
const ret = arg0;
return ret;
},
__wbindgen_generic_0000000000000271: function(arg0, arg1) {
const ret = getStringFromWasm0(arg0, arg1);
return ret;
},
__wbindgen_init_externref_table: function() {
const table = wasm.__wbindgen_externrefs;
table.set(0, undefined);
table.set(1024, undefined);
table.set(1025, null);
table.set(1026, true);
table.set(1027, false);
},
};
return {
__proto__: null,
"./kiln_viewer_bg.js": import0,
};
}
function wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___web_sys_461447dc9a373eb8___features__gen_Event__Event______true_(arg0, arg1, arg2) {
wasm.wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___web_sys_461447dc9a373eb8___features__gen_Event__Event______true_(arg0, arg1, arg2);
}
function wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___wasm_bindgen_e339f1fdbde1a20e___JsValue__core_fafa5420d26920c8___result__Result_____wasm_bindgen_e339f1fdbde1a20e___JsError___true_(arg0, arg1, arg2) {
const ret = wasm.wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___wasm_bindgen_e339f1fdbde1a20e___JsValue__core_fafa5420d26920c8___result__Result_____wasm_bindgen_e339f1fdbde1a20e___JsError___true_(arg0, arg1, arg2);
if (ret[1]) {
throw takeFromExternrefTable0(ret[0]);
}
}
function wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined_______true_(arg0, arg1, arg2, arg3) {
wasm.wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined___js_sys_577c715eb80593a1___Function_fn_wasm_bindgen_e339f1fdbde1a20e___JsValue_____wasm_bindgen_e339f1fdbde1a20e___sys__Undefined_______true_(arg0, arg1, arg2, arg3);
}
function wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___f64______true_(arg0, arg1, arg2) {
wasm.wasm_bindgen_e339f1fdbde1a20e___convert__closures_____invoke___f64______true_(arg0, arg1, arg2);
}
const __wbindgen_enum_RequestCache = ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"];
const __wbindgen_enum_WorkerType = ["classic", "module"];
const PagingFinalization = (typeof FinalizationRegistry === 'undefined')
? { register: () => {}, unregister: () => {} }
: new FinalizationRegistry(ptr => wasm.__wbg_paging_free(ptr, 1));
const ReadingFinalization = (typeof FinalizationRegistry === 'undefined')
? { register: () => {}, unregister: () => {} }
: new FinalizationRegistry(ptr => wasm.__wbg_reading_free(ptr, 1));
function addToExternrefTable0(obj) {
const idx = wasm.__externref_table_alloc();
wasm.__wbindgen_externrefs.set(idx, obj);
return idx;
}
const CLOSURE_DTORS = (typeof FinalizationRegistry === 'undefined')
? { register: () => {}, unregister: () => {} }
: new FinalizationRegistry(state => wasm.__wbindgen_destroy_closure(state.a, state.b));
function getArrayF32FromWasm0(ptr, len) {
ptr = ptr >>> 0;
return getFloat32ArrayMemory0().subarray(ptr / 4, ptr / 4 + len);
}
function getArrayJsValueFromWasm0(ptr, len) {
ptr = ptr >>> 0;
const mem = getDataViewMemory0();
const result = [];
for (let i = ptr; i < ptr + 4 * len; i += 4) {
result.push(wasm.__wbindgen_externrefs.get(mem.getUint32(i, true)));
}
wasm.__externref_drop_slice(ptr, len);
return result;
}
function getArrayU16FromWasm0(ptr, len) {
ptr = ptr >>> 0;
return getUint16ArrayMemory0().subarray(ptr / 2, ptr / 2 + len);
}
function getArrayU32FromWasm0(ptr, len) {
ptr = ptr >>> 0;
return getUint32ArrayMemory0().subarray(ptr / 4, ptr / 4 + len);
}
function getArrayU8FromWasm0(ptr, len) {
ptr = ptr >>> 0;
return getUint8ArrayMemory0().subarray(ptr / 1, ptr / 1 + len);
}
function getClampedArrayU8FromWasm0(ptr, len) {
ptr = ptr >>> 0;
return getUint8ClampedArrayMemory0().subarray(ptr / 1, ptr / 1 + len);
}
let cachedDataViewMemory0 = null;
function getDataViewMemory0() {
if (cachedDataViewMemory0 === null || cachedDataViewMemory0.buffer.detached === true || (cachedDataViewMemory0.buffer.detached === undefined && cachedDataViewMemory0.buffer !== wasm.memory.buffer)) {
cachedDataViewMemory0 = new DataView(wasm.memory.buffer);
}
return cachedDataViewMemory0;
}
let cachedFloat32ArrayMemory0 = null;
function getFloat32ArrayMemory0() {
if (cachedFloat32ArrayMemory0 === null || cachedFloat32ArrayMemory0.byteLength === 0) {
cachedFloat32ArrayMemory0 = new Float32Array(wasm.memory.buffer);
}
return cachedFloat32ArrayMemory0;
}
function getStringFromWasm0(ptr, len) {
ptr = ptr >>> 0;
return decodeText(getUint8ArrayMemory0().subarray(ptr, ptr + len));
}
let cachedUint16ArrayMemory0 = null;
function getUint16ArrayMemory0() {
if (cachedUint16ArrayMemory0 === null || cachedUint16ArrayMemory0.byteLength === 0) {
cachedUint16ArrayMemory0 = new Uint16Array(wasm.memory.buffer);
}
return cachedUint16ArrayMemory0;
}
let cachedUint32ArrayMemory0 = null;
function getUint32ArrayMemory0() {
if (cachedUint32ArrayMemory0 === null || cachedUint32ArrayMemory0.byteLength === 0) {
cachedUint32ArrayMemory0 = new Uint32Array(wasm.memory.buffer);
}
return cachedUint32ArrayMemory0;
}
let cachedUint8ArrayMemory0 = null;
function getUint8ArrayMemory0() {
if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.byteLength === 0) {
cachedUint8ArrayMemory0 = new Uint8Array(wasm.memory.buffer);
}
return cachedUint8ArrayMemory0;
}
let cachedUint8ClampedArrayMemory0 = null;
function getUint8ClampedArrayMemory0() {
if (cachedUint8ClampedArrayMemory0 === null || cachedUint8ClampedArrayMemory0.byteLength === 0) {
cachedUint8ClampedArrayMemory0 = new Uint8ClampedArray(wasm.memory.buffer);
}
return cachedUint8ClampedArrayMemory0;
}
function handleError(f, args) {
try {
return f.apply(this, args);
} catch (e) {
const idx = addToExternrefTable0(e);
wasm.__wbindgen_exn_store(idx);
}
}
function isLikeNone(x) {
return x === undefined || x === null;
}
function makeMutClosure(arg0, arg1, f) {
const state = { a: arg0, b: arg1, cnt: 1 };
const real = (...args) => {
state.cnt++;
const a = state.a;
state.a = 0;
try {
return f(a, state.b, ...args);
} finally {
state.a = a;
real._wbg_cb_unref();
}
};
real._wbg_cb_unref = () => {
if (--state.cnt === 0) {
wasm.__wbindgen_destroy_closure(state.a, state.b);
state.a = 0;
CLOSURE_DTORS.unregister(state);
}
};
CLOSURE_DTORS.register(real, state, state);
return real;
}
function passArray8ToWasm0(arg, malloc) {
const ptr = malloc(arg.length * 1, 1) >>> 0;
getUint8ArrayMemory0().set(arg, ptr / 1);
WASM_VECTOR_LEN = arg.length;
return ptr;
}
function passArrayF32ToWasm0(arg, malloc) {
const ptr = malloc(arg.length * 4, 4) >>> 0;
getFloat32ArrayMemory0().set(arg, ptr / 4);
WASM_VECTOR_LEN = arg.length;
return ptr;
}
function passStringToWasm0(arg, malloc, realloc) {
if (realloc === undefined) {
const buf = cachedTextEncoder.encode(arg);
const ptr = malloc(buf.length, 1) >>> 0;
getUint8ArrayMemory0().subarray(ptr, ptr + buf.length).set(buf);
WASM_VECTOR_LEN = buf.length;
return ptr;
}
let len = arg.length;
let ptr = malloc(len, 1) >>> 0;
const mem = getUint8ArrayMemory0();
let offset = 0;
for (; offset < len; offset++) {
const code = arg.charCodeAt(offset);
if (code > 0x7F) break;
mem[ptr + offset] = code;
}
if (offset !== len) {
if (offset !== 0) {
arg = arg.slice(offset);
}
ptr = realloc(ptr, len, len = offset + arg.length * 3, 1) >>> 0;
const view = getUint8ArrayMemory0().subarray(ptr + offset, ptr + len);
const ret = cachedTextEncoder.encodeInto(arg, view);
offset += ret.written;
ptr = realloc(ptr, len, offset, 1) >>> 0;
}
WASM_VECTOR_LEN = offset;
return ptr;
}
function takeFromExternrefTable0(idx) {
const value = wasm.__wbindgen_externrefs.get(idx);
wasm.__externref_table_dealloc(idx);
return value;
}
let cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
cachedTextDecoder.decode();
const MAX_SAFARI_DECODE_BYTES = 2146435072;
let numBytesDecoded = 0;
function decodeText(bytes) {
numBytesDecoded += bytes.length;
if (numBytesDecoded >= MAX_SAFARI_DECODE_BYTES) {
cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
cachedTextDecoder.decode();
numBytesDecoded = bytes.length;
}
return cachedTextDecoder.decode(bytes);
}
const cachedTextEncoder = new TextEncoder();
if (!('encodeInto' in cachedTextEncoder)) {
cachedTextEncoder.encodeInto = function (arg, view) {
const buf = cachedTextEncoder.encode(arg);
view.set(buf);
return {
read: arg.length,
written: buf.length
};
};
}
let WASM_VECTOR_LEN = 0;
let wasmModule, wasmInstance, wasm;
function __wbg_finalize_init(instance, module) {
wasmInstance = instance;
wasm = instance.exports;
wasmModule = module;
cachedDataViewMemory0 = null;
cachedFloat32ArrayMemory0 = null;
cachedUint16ArrayMemory0 = null;
cachedUint32ArrayMemory0 = null;
cachedUint8ArrayMemory0 = null;
cachedUint8ClampedArrayMemory0 = null;
wasm.__wbindgen_start();
return wasm;
}
async function __wbg_load(module, imports) {
if (typeof Response === 'function' && module instanceof Response) {
if (!module.ok) {
throw new Error(`failed to fetch Wasm: ${module.status} ${module.statusText} fetching '${module.url}'`);
}
if (typeof WebAssembly.instantiateStreaming === 'function') {
try {
return await WebAssembly.instantiateStreaming(module, imports);
} catch (e) {
const validResponse = expectedResponseType(module.type);
if (validResponse && module.headers.get('Content-Type') !== 'application/wasm') {
console.warn("`WebAssembly.instantiateStreaming` failed because your server does not serve Wasm with `application/wasm` MIME type. Falling back to `WebAssembly.instantiate` which is slower. Original error:\n", e);
} else { throw e; }
}
}
const bytes = await module.arrayBuffer();
return await WebAssembly.instantiate(bytes, imports);
} else {
const instance = await WebAssembly.instantiate(module, imports);
if (instance instanceof WebAssembly.Instance) {
return { instance, module };
} else {
return instance;
}
}
function expectedResponseType(type) {
switch (type) {
case 'basic': case 'cors': case 'default': return true;
}
return false;
}
}
function initSync(module) {
if (wasm !== undefined) return wasm;
if (module !== undefined) {
if (Object.getPrototypeOf(module) === Object.prototype) {
({module} = module)
} else {
console.warn('using deprecated parameters for `initSync()`; pass a single object instead')
}
}
const imports = __wbg_get_imports();
if (!(module instanceof WebAssembly.Module)) {
module = new WebAssembly.Module(module);
}
const instance = new WebAssembly.Instance(module, imports);
return __wbg_finalize_init(instance, module);
}
let __wbg_init_promise;
async function __wbg_init(module_or_path) {
if (wasm !== undefined) return wasm;
if (__wbg_init_promise === undefined) {
__wbg_init_promise = __wbg_init_once(module_or_path);
__wbg_init_promise.catch(() => { __wbg_init_promise = undefined; });
}
return __wbg_init_promise;
}
async function __wbg_init_once(module_or_path) {
if (module_or_path !== undefined) {
if (Object.getPrototypeOf(module_or_path) === Object.prototype) {
({module_or_path} = module_or_path)
} else {
console.warn('using deprecated parameters for the initialization function; pass a single object instead')
}
}
const imports = __wbg_get_imports();
if (typeof module_or_path === 'string' || (typeof Request === 'function' && module_or_path instanceof Request) || (typeof URL === 'function' && module_or_path instanceof URL)) {
module_or_path = fetch(module_or_path);
}
const { instance, module } = await __wbg_load(await module_or_path, imports);
return __wbg_finalize_init(instance, module);
}
export { initSync, __wbg_init as default };
