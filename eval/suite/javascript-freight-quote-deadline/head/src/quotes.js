import { withDeadline } from './deadline.js';

const CARRIER_TIMEOUT_MS = 3000;

export class NoQuoteError extends Error {
  constructor(errors) {
    super(`no carrier gave a quote (${errors.length} tried)`);
    this.name = 'NoQuoteError';
    this.errors = errors;
  }
}

/**
 * Asks the carriers in order of preference and returns the first quote.
 * A carrier that fails or does not answer in time is logged and skipped.
 */
export async function firstQuote(carriers, shipment, log = console) {
  const errors = [];
  for (const carrier of carriers) {
    try {
      return withDeadline(carrier.timeoutMs ?? CARRIER_TIMEOUT_MS, (signal) =>
        carrier.quote(shipment, { signal }),
      );
    } catch (err) {
      log.warn(`${carrier.name}: ${err.message}`);
      errors.push(err);
    }
  }
  throw new NoQuoteError(errors);
}
