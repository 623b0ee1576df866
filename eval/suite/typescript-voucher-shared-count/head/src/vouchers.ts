import type { Counters } from './counters.js';

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

  /** How often each voucher was redeemed is kept in `counters`, under `voucher:<code>`. */
  constructor(
    vouchers: readonly Voucher[],
    private readonly counters: Counters,
  ) {
    this.vouchers = new Map(vouchers.map((voucher) => [voucher.code, voucher]));
  }

  async redeem(code: string): Promise<Redemption> {
    const voucher = this.vouchers.get(code);
    if (!voucher) return { ok: false, reason: 'unknown' };

    const counter = `voucher:${code}`;
    const used = await this.counters.get(counter);
    if (used >= voucher.limit) return { ok: false, reason: 'used up' };
    await this.counters.add(counter, 1);
    return { ok: true, discountCents: voucher.discountCents };
  }
}
