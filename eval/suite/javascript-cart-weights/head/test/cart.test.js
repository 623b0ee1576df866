import assert from "node:assert/strict";
import { test } from "node:test";

import { totalCents } from "../src/cart.js";

const book = { unitCents: 1000, unitGrams: 400 };
const anvil = { unitCents: 6000, unitGrams: 10_000 };

test("adds shipping at home below the limit", () => {
  assert.equal(totalCents([{ ...book, quantity: 2 }], "home"), 2490);
  assert.equal(totalCents([{ ...book, quantity: 5 }], "home"), 5000);
});

test("always adds shipping abroad", () => {
  assert.equal(totalCents([{ ...book, quantity: 5 }], "abroad"), 6390);
});

test("adds the surcharge for heavy baskets", () => {
  assert.equal(totalCents([{ ...anvil, quantity: 1 }], "home"), 6900);
  assert.equal(totalCents([{ ...anvil, quantity: 1 }], "abroad"), 8290);
});
