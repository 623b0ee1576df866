/** The price in cents of charging `wattHours` at a station. */
export async function priceOf(tariffs, stationId, wattHours) {
  const { startCents, centsPerKwh } = await tariffs.get(stationId);
  return startCents + Math.round((centsPerKwh * wattHours) / 1000);
}
