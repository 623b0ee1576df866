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

const (
	expressCents = 500

	// Parcels longer than this do not fit on the belt and are carried by hand.
	beltMillimetres = 1_200
	bulkyCents      = 800
)

// Price returns the cents for a parcel.
func Price(p Parcel) (int, error) {
	for _, t := range tariffs {
		if p.Grams <= t.maxGrams {
			cents := t.cents
			if p.Express {
				cents += expressCents
			}
			if p.Length > beltMillimetres {
				cents += bulkyCents
			}
			return cents, nil
		}
	}
	return 0, ErrTooHeavy
}
