import * as carts from "./cart";
import { GiftCart } from "./cart";
import { roundMoney as rounded, type Shown } from "./money";

export { Money } from "./money";

export function printReport(items: Shown[]): void {
  items.map((item) => item.show()).forEach((line) => console.log(line));
  console.log("roundMoney was used");
}

export function run(): void {
  const gift = new GiftCart([]);
  printReport([carts.emptyCart(), gift, rounded(gift.total())]);
  const total = { show: () => "0" };
  [[total]].forEach(printReport);
}
