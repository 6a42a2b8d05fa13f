"""Names, streets, cities, products and other words that fill the slots of phrases; long because it is content.

Where two lists are given, the first is of style "a", the second of style "b".
"""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


FIRST_NAMES = {
    "a": _split(
        "Aaron, Abigail, Adele, Albert, Alfred, Amelia, Arthur, Barbara, Bernard, Bridget, Carl, Cecilia, Clara, "
        "Conrad, Cora, Dennis, Dora, Edgar, Edith, Elmer, Erica, Eugene, Felix, Flora, Gerald, Gloria, Harold, Hazel, "
        "Howard, Ingrid, Irene, Ivan, Jasper, Josephine, Judith, Karl, Leonard, Lorna, Mabel, Marvin, Mildred, Norman, "
        "Opal, Percy, Ralph, Rosa, Stella, Stuart, Theodore, Vera, Wallace, Wilma"
    ),
    "b": _split(
        "Alice, Andrew, Angela, Anna, Anthony, Benjamin, Brian, Carol, Catherine, Charles, Claire, Daniel, David, "
        "Diana, Edward, Elizabeth, Emily, Eric, Eva, Frank, George, Grace, Hannah, Helen, Henry, Jack, James, Jane, "
        "Jennifer, John, Joseph, Julia, Karen, Kevin, Laura, Lucy, Margaret, Maria, Mark, Martin, Mary, Michael, "
        "Monica, Nancy, Oliver, Patricia, Paul, Peter, Philip, Rachel, Rebecca, Richard, Robert, Ruth, Samuel, Sandra, "
        "Sarah, Simon, Sophie, Susan, Thomas, Victor, William"
    ),
}
LAST_NAMES = {
    "a": _split(
        "Abbott, Ames, Archer, Atwood, Barlow, Beck, Bishop, Blackwell, Boyd, Bradley, Briggs, Burgess, Caldwell, "
        "Chase, Conway, Crane, Dalton, Dempsey, Drake, Dunn, Ellison, Farrell, Finch, Frost, Gallagher, Goodwin, Hale, "
        "Hartley, Hobbs, Holt, Ingram, Keller, Lambert, Lowell, Maddox, Marsh, Merritt, Norris, Osborne, Payne, "
        "Pruitt, Quinn, Ramsey, Rowe, Sawyer, Sloan, Tate, Thornton, Vance, Vogel, Weaver, Whitaker, Yates"
    ),
    "b": _split(
        "Adams, Allen, Anderson, Bailey, Baker, Barnes, Bell, Bennett, Brooks, Brown, Butler, Campbell, Carter, Clark, "
        "Collins, Cook, Cooper, Cox, Davis, Edwards, Evans, Fisher, Foster, Gray, Green, Griffin, Hall, Harris, Hayes, "
        "Henderson, Hill, Howard, Hughes, Jackson, Jenkins, Johnson, Jones, Kelly, King, Lewis, Long, Marshall, "
        "Miller, Mitchell, Moore, Morgan, Morris, Murphy, Nelson, Parker, Peterson, Phillips, Powell, Price, Reed, "
        "Reynolds, Roberts, Robinson, Rogers, Ross, Russell, Sanders, Scott, Simmons, Smith, Stewart, Taylor, Turner, "
        "Walker, Ward, Watson, White, Wilson, Wood, Wright, Young"
    ),
}
STREETS = {
    "a": _split(
        "Alder Road, Anchor Street, Barn Hill, Beacon Lane, Canal Walk, Cherry Row, Clover Court, Copper Street, Dock "
        "Road, Elm Crescent, Falcon Way, Ferry Lane, Forge Street, Granite Avenue, Heron Close, Ivy Terrace, Lantern "
        "Street, Mason Road, Orchard Row, Pearl Street, Quarry Lane, Raven Court, Saddle Hill, Tanner Street, Violet "
        "Walk"
    ),
    "b": _split(
        "Abbey Road, Bridge Street, Castle Street, Cedar Avenue, Chapel Lane, Church Street, Circle Drive, College "
        "Road, Forest Avenue, Garden Street, Grove Road, Harbor Street, Highland Avenue, Hill Street, Jackson Avenue, "
        "King Street, Lake Drive, Lincoln Avenue, Main Street, Maple Avenue, Market Square, Meadow Lane, Mill Road, "
        "North Street, Oak Street, Old Mill Lane, Park Avenue, Pine Street, Prospect Avenue, Queen Street, Ridge Road, "
        "River Road, School Lane, Spring Street, Station Road, Sunset Drive, Valley Road, Victoria Street, Walnut "
        "Street, Washington Street, Willow Drive, Windsor Road"
    ),
}
CITIES = {
    "a": _split(
        "Alderton, Ashby, Barrow Falls, Beckley, Brantwood, Calder, Cliffside, Darrow, Eastmere, Elmsford, Farley, "
        "Glenrock, Hadley, Ironbridge, Kestrel Bay, Larkhill, Mapleton, Northam, Oakhurst, Pinefield, Quincy Harbor, "
        "Redmoor, Silverlake, Thornbury"
    ),
    "b": _split(
        "Albany, Arlington, Ashland, Auburn, Bedford, Bloomfield, Bristol, Burlington, Cambridge, Chester, Clayton, "
        "Clinton, Concord, Dayton, Dover, Fairfield, Florence, Franklin, Georgetown, Greenville, Hamilton, Hudson, "
        "Jamestown, Kingston, Lancaster, Lebanon, Lexington, Manchester, Marion, Milford, Milton, Newport, Norwood, "
        "Oakland, Oxford, Plymouth, Princeton, Richmond, Riverside, Salem, Springfield, Trenton, Warren, Winchester, "
        "Windsor, Woodstock"
    ),
}
PRODUCTS = {
    "a": _split(
        "Basic Care, Comfort Plan, Direct Cover, Easy Home, Family Plus, Green Energy, House Guard, Travel Light"
    ),
    "b": _split(
        "household insurance, motor insurance, travel insurance, liability insurance, legal protection, dental cover, "
        "life insurance, pet insurance, the gas tariff, the electricity tariff, home contents insurance, accident "
        "insurance, building insurance, the district heating plan"
    ),
}
BANKS = {
    "a": _split("Alder Bank, Savings Union, Harbor Trust, First Meadow Bank, Granite Credit"),
    "b": _split(
        "Northern Bank, City Savings Bank, Union Trust, Commerce Bank, Valley Credit Union, National Bank, Bank of "
        "Salem"
    ),
}
COMPANY_FIRST = {
    "a": _split("Aurora, Beacon, Cobalt, Delta, Ember, Fulcrum, Granite, Helix, Ivory, Juniper, Keystone, Lumen"),
    "b": _split(
        "Allied, Atlas, Capital, Central, Crown, Eagle, Eastern, First, General, Golden, Liberty, Metro, National, "
        "Northern, Pacific, Pioneer, Premier, Royal, Summit, Union, United, Western"
    ),
}
COMPANY_LAST = {
    "a": _split("Garage, Joinery, Roofers, Office Supplies, Logistics, Fitness, Media, Catering, Optics, Nursery"),
    "b": _split(
        "Auto Service, Builders, Plumbing, Electric, Furniture, Hardware, Heating, Home Services, Motors, Travel, "
        "Consulting, Cleaning, Garden Center, Printing, Telecom, Foods, Glass Works"
    ),
}
COMPANY_KIND = {"a": _split("GmbH, Bros., AG"), "b": _split("Inc., Ltd., LLC, & Sons, & Co., Group")}
INSURERS = {
    "a": _split("Helvet Mutual, Prime Utilities, Orbis Assurance, Stadtwerke Nord"),
    "b": _split("Meridian Insurance, Harborview Mutual, Evergreen Energy, Blue River Utilities, Sentinel Life & Home"),
}
DEPARTMENTS = {
    "a": _split("Back Office, Clerks' Office, Desk 4, Mail Desk"),
    "b": _split("Customer Service, Central Mailroom, Policy Services, Department 12, Accounts, Client Relations"),
}
ITEMS = {
    "a": _split("garage door, cellar, heater, terrace, carport, oven"),
    "b": _split(
        "kitchen floor, living room carpet, bathroom ceiling, washing machine, television, roof, boiler, front door, "
        "balcony, dishwasher, garden fence, window, staircase, wooden floor, sofa, refrigerator"
    ),
}
VEHICLES = {
    "a": _split("van, motorcycle, camper, trailer"),
    "b": _split("car, station wagon, pickup truck, company car, scooter, bicycle, minivan"),
}
GOODS = {
    "a": _split(
        "Folding chair, Desk lamp, Binder A4, Toner, Water filter, Extension cord, Shelf board, Wall paint 5 l, Timer, "
        "Cable drum, Notebook lined, Broom"
    ),
    "b": _split(
        "Office chair, Printer paper, Service fee, Delivery, Garden hose, Light bulb, Coffee beans, Copper pipe, "
        "Door handle, Mounting kit, Travel costs, Consulting hour, Battery, Filter set, Paint, Floor tiles, Screws, "
        "Work gloves, Window glass, Installation, Basic rate, Meter reading, Storage box, Tool rental"
    ),
}
GROCERIES = {
    "a": _split("Rye bread, Oat milk, Pears, Cheese slices, Mineral water, Rice 1 kg, Soap, Napkins"),
    "b": _split(
        "Apples, Bread, Butter, Coffee, Eggs, Flour, Juice, Milk, Pasta, Potatoes, Salt, Sugar, Tea, Tomatoes, Yogurt, "
        "Bananas, Chocolate, Detergent"
    ),
}
OCCUPATIONS = {
    "a": _split("Baker, Surveyor, Welder, Florist"),
    "b": _split("Teacher, Driver, Engineer, Nurse, Accountant, Sales clerk, Electrician, Student, Retired"),
}
MONTHS = _split("January, February, March, April, May, June, July, August, September, October, November, December")
WEEKDAYS = _split("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
NUMBER_WORDS = _split(
    "zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, "
    "sixteen, seventeen, eighteen, nineteen"
)
TENS = _split("zero, ten, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety")
