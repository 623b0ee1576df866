import assert from "node:assert/strict";
import { test } from "node:test";

import { totalCents } from "../src/cart.js";

test("adds shipping at home below the limit", () => {
  assert.equal(totalCents([{ unitCents: 1000, quantity: 2 }], "home"), 2490);
  assert.equal(totalCents([{ unitCents: 1000, quantity: 5 }], "home"), 5000);
});

test("always adds shipping abroad", () => {
  assert.equal(totalCents([{ unitCents: 1000, quantity: 5 }], "abroad"), 6290);
});
