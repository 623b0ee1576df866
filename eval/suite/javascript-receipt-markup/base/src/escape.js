const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Makes a text safe for element content and for quoted attributes. */
export function escape(text) {
  return String(text).replace(/[&<>"']/g, (char) => ENTITIES[char]);
}
