/** A carrier that is asked over HTTP; `timeoutMs` is for those that need longer than the others. */
export function httpCarrier(name, endpoint, { timeoutMs } = {}) {
  return {
    name,
    timeoutMs,
    async quote(shipment, { signal } = {}) {
      const response = await fetch(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(shipment),
        signal,
      });
      if (!response.ok) {
        throw new Error(`answered ${response.status}`);
      }
      const { price, days } = await response.json();
      return { carrier: name, price, days };
    },
  };
}
