// Package parcel computes what sending a parcel costs.
package parcel

import "errors"

// Parcel is what the customer puts on the counter.
type Parcel struct {
	Grams int
	// Longest edge in millimetres.
	Length  int
	Express bool
}

// ErrTooHeavy is returned for parcels that no tariff covers.
var ErrTooHeavy = errors.New("parcel: too heavy")

// tariffs are sorted by weight. The weight is inclusive.
var tariffs = []struct{ maxGrams, cents int }{
	{1_000, 390},
	{5_000, 650},
	{20_000, 1_250},
}

const expressCents = 500

// Price returns the cents for a parcel.
func Price(p Parcel) (int, error) {
	for _, t := range tariffs {
		if p.Grams <= t.maxGrams {
			cents := t.cents
			if p.Express {
				cents += expressCents
			}
			return cents, nil
		}
	}
	return 0, ErrTooHeavy
}
