package shop

import (
	"fmt"

	amounts "example.com/shop/money"
)

func PrintReport(items ...amounts.Shown) {
	for _, item := range items {
		fmt.Println(item.Show())
	}
	fmt.Println("Round was used")
}

func Run() {
	gift := &GiftCart{Cart: *New()}
	PrintReport(gift, amounts.Round(gift.Total()))
	print := PrintReport
	print()
}
