/** An amount. Money is in cents. */
export class Money {
  constructor(readonly cents: number) {}

  add(other: Money): Money {
    return new Money(this.cents + other.cents);
  }

  show(): string {
    return `${this.cents}`;
  }
}

export interface Shown {
  show(): string;
}

export function roundMoney(money: Money): Money {
  // roundMoney keeps whole cents.
  return new Money(Math.round(money.cents));
}
