import { escape } from './escape.js';

/** Text that is HTML already. Only `html` makes it. */
class Markup {
  #source;

  constructor(source) {
    this.#source = source;
  }

  toString() {
    return this.#source;
  }
}

function render(value) {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (Array.isArray(value)) return value.map(render).join('');
  return escape(value);
}

/**
 * Template tag for HTML: html`<p>${text}</p>`.
 * Values are escaped, unless they come from `html` themselves. Lists are joined;
 * null, undefined and false give nothing. Attributes must be quoted.
 */
export function html(strings, ...values) {
  let source = strings[0];
  values.forEach((value, i) => {
    source += render(value) + strings[i + 1];
  });
  return new Markup(source);
}
