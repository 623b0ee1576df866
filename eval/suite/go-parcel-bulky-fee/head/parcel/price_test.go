package parcel

import (
	"errors"
	"testing"
)

func TestPrice(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		parcel Parcel
		cents  int
		err    error
	}{
		{"light", Parcel{Grams: 300, Length: 200}, 390, nil},
		{"limit of the first tariff", Parcel{Grams: 1_000, Length: 200}, 390, nil},
		{"second tariff", Parcel{Grams: 1_001, Length: 200}, 650, nil},
		{"express", Parcel{Grams: 5_000, Length: 200, Express: true}, 1_150, nil},
		{"fits on the belt", Parcel{Grams: 5_000, Length: 1_200}, 650, nil},
		{"bulky", Parcel{Grams: 5_000, Length: 1_201}, 1_450, nil},
		{"bulky express", Parcel{Grams: 900, Length: 1_500, Express: true}, 1_690, nil},
		{"too heavy and bulky", Parcel{Grams: 20_001, Length: 1_500}, 0, ErrTooHeavy},
		{"too heavy", Parcel{Grams: 20_001, Length: 200}, 0, ErrTooHeavy},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cents, err := Price(tc.parcel)
			if cents != tc.cents || !errors.Is(err, tc.err) {
				t.Errorf("got %d, %v; want %d, %v", cents, err, tc.cents, tc.err)
			}
		})
	}
}
