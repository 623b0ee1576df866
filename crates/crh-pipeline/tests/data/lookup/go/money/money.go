// Package money has amounts: see Money and Round.
package money

import "fmt"

// Money is in cents.
type Money struct{ Cents int }

// Shown is what can be shown.
type Shown interface {
	Show() string
}

func New(cents int) Money {
	return Money{Cents: cents}
}

func (m Money) Add(other Money) Money {
	return New(m.Cents + other.Cents)
}

func (m Money) Show() string {
	return fmt.Sprintf("%d", m.Cents)
}

func Round(money Money) Money {
	// Round keeps whole cents.
	return New(money.Cents)
}
