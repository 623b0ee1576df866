package billing

import (
	"fmt"
	"strings"
	"time"
)

var titles = map[Kind]string{
	Invoice:    "Invoice",
	Payment:    "Payment",
	CreditNote: "Credit note",
}

// Statement renders the account for the yearly letter.
func Statement(a *Account, on time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Account of %s\n", a.Customer)
	for _, d := range a.Documents() {
		if d.Date.After(on) {
			continue
		}
		fmt.Fprintf(&b, "%s  %-12s %-8s %s",
			d.Date.Format("2006-01-02"), titles[d.Kind], d.Number, money(d.Cents))
		if d.Corrects != "" {
			fmt.Fprintf(&b, " (for %s)", d.Corrects)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "To pay: %s\n", money(a.Balance(on)))
	return b.String()
}

func money(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}
