// Package billing keeps the documents of a customer's account.
package billing

import (
	"errors"
	"time"
)

// Kind says what a document is.
type Kind int

const (
	// Invoice asks the customer for money.
	Invoice Kind = iota
	// Payment is money that came in.
	Payment
)

// Document is one entry of an account. Cents is always positive; the kind
// says in which direction it counts.
type Document struct {
	Kind   Kind
	Number string
	Cents  int64
	Date   time.Time
}

// ErrAmount is returned for amounts that are zero or negative.
var ErrAmount = errors.New("billing: amount must be positive")

// NewInvoice returns an invoice over an amount.
func NewInvoice(number string, cents int64, date time.Time) (Document, error) {
	return newDocument(Invoice, number, cents, date)
}

// NewPayment returns a payment of an amount.
func NewPayment(number string, cents int64, date time.Time) (Document, error) {
	return newDocument(Payment, number, cents, date)
}

func newDocument(kind Kind, number string, cents int64, date time.Time) (Document, error) {
	if cents <= 0 {
		return Document{}, ErrAmount
	}
	return Document{Kind: kind, Number: number, Cents: cents, Date: date}, nil
}
