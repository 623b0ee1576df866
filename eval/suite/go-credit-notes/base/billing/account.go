package billing

import "time"

// Account is what one customer was billed and has paid.
type Account struct {
	Customer  string
	documents []Document
}

// Add appends a document.
func (a *Account) Add(d Document) {
	a.documents = append(a.documents, d)
}

// Documents returns a copy of the documents in the order they were added.
func (a *Account) Documents() []Document {
	return append([]Document(nil), a.documents...)
}

// Balance returns how many cents the customer owes on a date, that day
// included. It is negative if the customer has paid too much.
func (a *Account) Balance(on time.Time) int64 {
	var cents int64
	for _, d := range a.documents {
		if d.Date.After(on) {
			continue
		}
		if d.Kind == Payment {
			cents -= d.Cents
		} else {
			cents += d.Cents
		}
	}
	return cents
}
