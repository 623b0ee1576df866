import { Money as Amount, roundMoney, Shown } from "./money";

export class Cart implements Shown {
  constructor(protected prices: Amount[]) {}

  /** The total, see {@link roundMoney}. */
  total(): Amount {
    let total = new Amount(0);
    for (const price of this.prices) {
      total = total.add(price);
    }
    return roundMoney(total);
  }

  show(): string {
    return this.total().show();
  }
}

export class GiftCart extends Cart {
  total(): Amount {
    return super.total().add(new Amount(300));
  }
}

export function emptyCart(): Cart {
  return new Cart([]);
}
