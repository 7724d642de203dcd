! Clean: each thread multiplies small matrices of its own.
program clean_matrix
  use omp_lib
  implicit none
  integer, parameter :: n = 48, products = 480
  integer :: threads, round
  real(8) :: total
  character(16) :: argument

  threads = 4
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) threads
  call omp_set_num_threads(threads)
  total = 0
  !$omp parallel do reduction(+:total) schedule(static)
  do round = 1, products
    total = total + trace_of_product(round)
  end do
  !$omp end parallel do
  print '(a,f0.3)', 'checksum ', total

contains

  real(8) function trace_of_product(seed)
    integer, intent(in) :: seed
    real(8) :: a(n, n), b(n, n), c(n, n)
    integer :: i, j, k
    do j = 1, n
      do i = 1, n
        a(i, j) = mod(i*j + seed, 7)
        b(i, j) = mod(i + j*seed, 5)
      end do
    end do
    c = 0
    do j = 1, n
      do k = 1, n
        do i = 1, n
          c(i, j) = c(i, j) + a(i, k)*b(k, j)
        end do
      end do
    end do
    trace_of_product = 0
    do i = 1, n
      trace_of_product = trace_of_product + c(i, i)
    end do
  end function
end program
