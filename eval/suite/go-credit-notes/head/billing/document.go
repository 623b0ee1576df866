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
	// CreditNote takes back an invoice or a part of it.
	CreditNote
)

// Document is one entry of an account. Cents is always positive; the kind
// says in which direction it counts.
type Document struct {
	Kind   Kind
	Number string
	Cents  int64
	Date   time.Time
	// Corrects is the number of the invoice that a credit note belongs to.
	Corrects string
}

// ErrAmount is returned for amounts that are zero or negative.
var ErrAmount = errors.New("billing: amount must be positive")

// ErrCorrection is returned for a credit note that does not fit its invoice.
var ErrCorrection = errors.New("billing: credit note does not fit the invoice")

// NewInvoice returns an invoice over an amount.
func NewInvoice(number string, cents int64, date time.Time) (Document, error) {
	return newDocument(Invoice, number, cents, date)
}

// NewPayment returns a payment of an amount.
func NewPayment(number string, cents int64, date time.Time) (Document, error) {
	return newDocument(Payment, number, cents, date)
}

// NewCreditNote returns a credit note over the whole or a part of an invoice.
func NewCreditNote(number string, invoice Document, cents int64, date time.Time) (Document, error) {
	if invoice.Kind != Invoice || cents > invoice.Cents || date.Before(invoice.Date) {
		return Document{}, ErrCorrection
	}
	note, err := newDocument(CreditNote, number, cents, date)
	if err != nil {
		return Document{}, err
	}
	note.Corrects = invoice.Number
	return note, nil
}

func newDocument(kind Kind, number string, cents int64, date time.Time) (Document, error) {
	if cents <= 0 {
		return Document{}, ErrAmount
	}
	return Document{Kind: kind, Number: number, Cents: cents, Date: date}, nil
}
