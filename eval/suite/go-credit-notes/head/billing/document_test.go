package billing

import (
	"errors"
	"testing"
)

func TestCreditNote(t *testing.T) {
	invoice, err := NewInvoice("R-1", 12_50, day(2))
	if err != nil {
		t.Fatal(err)
	}
	note, err := NewCreditNote("C-1", invoice, 2_50, day(3))
	if err != nil {
		t.Fatal(err)
	}
	if note.Kind != CreditNote || note.Corrects != "R-1" || note.Cents != 2_50 {
		t.Errorf("got %+v", note)
	}
	if _, err := NewCreditNote("C-2", invoice, 12_51, day(3)); !errors.Is(err, ErrCorrection) {
		t.Errorf("more than the invoice: %v", err)
	}
	if _, err := NewCreditNote("C-3", invoice, 1_00, day(1)); !errors.Is(err, ErrCorrection) {
		t.Errorf("before the invoice: %v", err)
	}
	if _, err := NewCreditNote("C-4", invoice, 0, day(3)); !errors.Is(err, ErrAmount) {
		t.Errorf("nothing: %v", err)
	}
}
