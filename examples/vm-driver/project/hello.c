#include <stdio.h>

int main(void)
{
    puts("compiled in a virtual machine");
    return 0;
}
