import type { VoucherDesk } from './vouchers.js';

export interface Cart {
  readonly totalCents: number;
  readonly voucherCode?: string;
}

/** What the customer has to pay, in cents. A voucher that cannot be redeemed is ignored. */
export async function amountDue(cart: Cart, desk: VoucherDesk): Promise<number> {
  if (cart.voucherCode === undefined) return cart.totalCents;

  const redemption = await desk.redeem(cart.voucherCode);
  return redemption.ok ? Math.max(0, cart.totalCents - redemption.discountCents) : cart.totalCents;
}
