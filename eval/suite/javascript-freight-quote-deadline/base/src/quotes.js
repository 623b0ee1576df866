export class NoQuoteError extends Error {
  constructor(errors) {
    super(`no carrier gave a quote (${errors.length} tried)`);
    this.name = 'NoQuoteError';
    this.errors = errors;
  }
}

/**
 * Asks the carriers in order of preference and returns the first quote.
 * A carrier that fails is logged and skipped.
 */
export async function firstQuote(carriers, shipment, log = console) {
  const errors = [];
  for (const carrier of carriers) {
    try {
      return await carrier.quote(shipment);
    } catch (err) {
      log.warn(`${carrier.name}: ${err.message}`);
      errors.push(err);
    }
  }
  throw new NoQuoteError(errors);
}
