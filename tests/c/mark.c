/* One version of a program: says which in "got". MARK is defined above. */
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    int got = open("got", O_WRONLY | O_CREAT | O_APPEND, 0644);
    return write(got, MARK, sizeof MARK - 1) == sizeof MARK - 1 ? 0 : 90;
}
