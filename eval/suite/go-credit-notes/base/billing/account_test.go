package billing

import (
	"testing"
	"time"
)

func day(d int) time.Time {
	return time.Date(2024, time.March, d, 0, 0, 0, 0, time.UTC)
}

func TestBalance(t *testing.T) {
	a := Account{Customer: "Mill Lane 3"}
	invoice, err := NewInvoice("R-1", 12_50, day(1))
	if err != nil {
		t.Fatal(err)
	}
	payment, err := NewPayment("P-1", 2_50, day(5))
	if err != nil {
		t.Fatal(err)
	}
	a.Add(invoice)
	a.Add(payment)
	if got := a.Balance(day(4)); got != 12_50 {
		t.Errorf("before the payment: %d", got)
	}
	if got := a.Balance(day(5)); got != 10_00 {
		t.Errorf("after the payment: %d", got)
	}
}
