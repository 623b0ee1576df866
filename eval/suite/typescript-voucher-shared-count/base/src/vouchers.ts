export interface Voucher {
  readonly code: string;
  readonly discountCents: number;
  /** How often it may be redeemed, by all customers together. */
  readonly limit: number;
}

export type Redemption =
  | { readonly ok: true; readonly discountCents: number }
  | { readonly ok: false; readonly reason: 'unknown' | 'used up' };

export class VoucherDesk {
  private readonly vouchers: ReadonlyMap<string, Voucher>;
  private readonly used = new Map<string, number>();

  constructor(vouchers: readonly Voucher[]) {
    this.vouchers = new Map(vouchers.map((voucher) => [voucher.code, voucher]));
  }

  redeem(code: string): Redemption {
    const voucher = this.vouchers.get(code);
    if (!voucher) return { ok: false, reason: 'unknown' };

    const used = this.used.get(code) ?? 0;
    if (used >= voucher.limit) return { ok: false, reason: 'used up' };
    this.used.set(code, used + 1);
    return { ok: true, discountCents: voucher.discountCents };
  }
}
